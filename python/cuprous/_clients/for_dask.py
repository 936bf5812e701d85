def register(b): pass
