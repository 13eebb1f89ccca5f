def load(path): raise NotImplementedError
def save(path, x): raise NotImplementedError
