"""The page: what people see in a browser, rendered on the server.

Everything here takes values and returns HTML; the routes are in `priory.server.http.routes.pages`. The scripts in
static/ only add to pages that work without them.
"""
