from priory.features.hashing import Keys
from priory.features.sections import Sections

def facts(sections: Sections, keys: Keys) -> None: ...
