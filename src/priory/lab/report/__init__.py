"""What a judgement looks like: one page for the browser, the same as text for the terminal and as JSON for programs.

`report` gathers everything that is shown, `page` and `text` show it.
"""

from priory.lab.report.compared import Compared
from priory.lab.report.page import page, policy
from priory.lab.report.report import Report
from priory.lab.report.text import text

__all__ = ["Compared", "Report", "page", "policy", "text"]
