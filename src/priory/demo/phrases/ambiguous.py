"""Short letters of both labels: the same sentences, with different weights.

Each row is a sentence with its weight in ham and its weight in spam. A filter can learn only the ratio, so it has to be
unsure here.
"""

from priory.demo.grammar import odds
from priory.demo.topic import Topic

SENTENCES = (
    ("See the attached invoice.", 3, 4),
    ("Please find the document {attached|below}.", 3, 3),
    ("Call me {back|when you can|today}.", 4, 3),
    ("Did you {get|read|see} my {last|earlier} {mail|message}?", 4, 3),
    ("Can we talk {soon}?", 3, 2),
    ("I have {an offer|a proposal|a question} for you.", 2, 4),
    ("The payment of {amount} is {on its way|late|confirmed}.", 3, 3),
    ("Is this address still {right|in use}?", 2, 4),
    ("{please} {answer|reply} {soon}.", 3, 4),
    ("It is {rather|quite} urgent.", 2, 3),
    ("Thank you for your {help|time|patience}.", 4, 3),
    ("I will be {away|travelling} until {day}.", 4, 2),
    ("The {meeting|call} on {day} is {on|off}.", 4, 2),
    ("We met in {town}, do you remember?", 2, 3),
    ("I need {a favour|your help with something} {soon}.", 2, 3),
    ("Are you {free|at your desk|there} {on {day}|now}?", 3, 3),
    ("My phone is {broken|dead}, write to me here.", 2, 3),
    ("It is about the {account|money|order|house}.", 3, 4),
    ("The {price|fee} is {amount}.", 3, 3),
    ("{Hope|Trust} you are well.", 2, 3),
)
SUBJECTS = (
    ("{Hello|Hi|Hi there}", 3, 4),
    ("{Question|Quick question|A question}", 4, 3),
    ("{Invoice|Document|Scan}", 3, 4),
    ("{Urgent|Important|Today}", 2, 3),
    ("Re: {your mail|our call|{day}|the order}", 4, 3),
    ("{Call me|Are you there?|Please read}", 3, 4),
    ("{day}", 3, 2),
    ("", 1, 1),
)
SENTENCE = {
    "ham": odds(*((template, ham) for template, ham, _ in SENTENCES)),
    "spam": odds(*((template, spam) for template, _, spam in SENTENCES)),
}
SUBJECT = {
    "ham": odds(*((template, ham) for template, ham, _ in SUBJECTS)),
    "spam": odds(*((template, spam) for template, _, spam in SUBJECTS)),
}
SHORT = Topic(
    name="short",
    weight=1,
    subjects=(),
    sentences=(),
    attachments=odds(("", 80), ("pdf", 12), ("docx", 5), ("zip", 3)),
    circle="stranger",
)
