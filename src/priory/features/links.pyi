from priory.features.hashing import Keys
from priory.features.sections import Sections

def links(sections: Sections, keys: Keys) -> None: ...
