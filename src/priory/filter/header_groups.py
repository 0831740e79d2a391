"""What a header says about a message: who it comes from, which way it came, how it was made."""

from typing import Final

from priory.features.places import GROUPS

_NAMES: Final = {
    "subject": "subject",
    "sender": """from reply-to return-path sender dkim-signature domainkey-signature authentication-results received-spf
        arc-seal arc-message-signature arc-authentication-results errors-to envelope-from x-sender x-envelope-from
        organization resent-from x-google-dkim-signature x-from x-originating-email""",
    "route": """received x-received delivered-to x-delivered-to x-original-to envelope-to x-envelope-to x-originating-ip
        x-forwarded-to x-forwarded-for resent-to apparently-to x-real-to x-rcpt-to""",
    "program": """x-mailer user-agent mime-version content-type content-transfer-encoding content-disposition
        content-language content-class content-length content-id content-description message-id date x-mimeole
        x-msmail-priority x-priority importance priority thread-index thread-topic x-accept-language
        x-php-originating-script x-mimetrack x-ms-tnef-correlator x-ms-has-attach accept-language
        x-newsreader x-library x-mimeautoconverted""",
    "list": """list-id list-post list-help list-subscribe list-unsubscribe list-unsubscribe-post list-archive list-owner
        precedence mailing-list x-mailing-list x-beenthere x-mailman-version x-list x-loop feedback-id auto-submitted
        x-list-administrivia x-campaign x-campaign-id x-csa-complaints""",
}

#: The number of the group of each header, by its name in lower case; all others are in the group of other headers.
HEADER_GROUPS: Final = {name.encode(): GROUPS.index(group) for group, names in _NAMES.items() for name in names.split()}
