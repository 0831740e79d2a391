"""Reports: a page for the browser, text for the terminal, JSON for programs.

`report` computes everything that is shown, `page` and `text` show it.
"""

from priory.lab.report.page import page, policy
from priory.lab.report.report import ModelComparison, Report
from priory.lab.report.text import text

__all__ = ["ModelComparison", "Report", "page", "policy", "text"]
