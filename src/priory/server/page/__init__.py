"""The page: what people see and change in a browser. Written on the server, with a little script that only adds."""
