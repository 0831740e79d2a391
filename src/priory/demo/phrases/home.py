"""Ham from home: family, friends, clubs, school, neighbours, and people who write for the first time."""

from ..grammar import odds
from ..topic import Topic

FAMILY_SLOTS = {
    "kin": "Mum|Dad|Grandma|Uncle Harold|Josie|your sister|Aunt Dora|our neighbour",
    "dish": "lentil soup|plum cake|the big lasagne|pancakes|a pie|too many scones",
    "thing": "ladder|tent|good camera|piano|old bicycle|sewing machine|watch of Grandpa's|box of photos",
}
FAMILY = Topic(
    name="family",
    weight=10,
    subjects=(
        "{Sunday|Dinner|Lunch|Birthday}",
        "{kin}",
        "{Photos|News} from {town}",
        "The {thing}",
        "{Are you|Can you be} {home|here} on {day}?",
    ),
    sentences=(
        "{kin} {arrived|got home|called} {last night|at {time}} and {sends love|asks about you|slept until {time}}.",
        "I {made|burnt|froze} {dish}, {come and help us eat it|there is plenty|the dog got half}.",
        "Did you {find|borrow|take} the {thing}? {kin} {needs it|is looking for it} {soon}.",
        "The doctor says {kin}'s {knee|back|heart} is {better|no worse}, {fewer pills|walks} and {rest|no coffee}.",
        "We {won|lost} at the {quiz|raffle|card table}: a {thing} and {amount}, {imagine|of all things}.",
        "{kin} wants to {sell|lend you|give away} the {thing}, for free, so {call|write} {soon}.",
        "I owe you {amount} for the {tickets|shopping|paint}, remind me.",
        "The {garden|roof|cellar|cat} {is a mess|looks lovely|needs you}.",
        "{Love from|A hug from} {kin}.",
        "Call me {back|when you are home|after {time}}.",
    ),
    slots=FAMILY_SLOTS,
    settled=("thing",),
    length=(2, 5),
    circle="home",
    closings=("Love,", "xx", "{Lots of love|Hugs},", "See you {soon},", "", ""),
)
FRIENDS = Topic(
    name="friends",
    weight=9,
    subjects=(
        "{plan} {on|this} {day}?",
        "Re: {plan}",
        "{plan}",
        "{Tickets|A date} for {plan}",
        "{Guess what|Good news|So}",
    ),
    sentences=(
        "{Shall we|Do you want to|Are you free to} {go|come} {to the|for a} {plan} on {day}?",
        "It {starts|begins} at {time} and {costs {amount}|is free, I think|is cheap before {time}}.",
        "{friend} {has met someone|is single again|got engaged|bought a boat}, {ask yourself|long story}.",
        "I have {few} tickets left, {one is yours|an offer you cannot refuse}.",
        "{friend} {bets|promises} it {will rain|is worth the money|beats last year}.",
        "We {could take|missed} the {train|bus} at {time} from {town}.",
        "{friend} invested all the {kitty|pub money} in {crisps|a ball|the raffle}, {so bring cash|no returns so far}.",
        "Bring a {coat|torch|friend|watch, mine stopped}.",
        "My number is {the same|new}: 0{d}{d}{d} {d}0{d}{d}.",
        "{Let me know|Tell me|Text me} {soon}.",
    ),
    slots={
        "plan": "film|walk|swim|concert|picnic|football match|board game night|bonfire",
        "friend": "Tessa|Kofi|Imogen|Sam|my flatmate|Stella",
    },
    settled=("plan", "day"),
    length=(2, 5),
    circle="home",
    links=("{The draft|Details|Tickets|More} {here|online}", "{See|Have a look}"),
    link_share=0.2,
)
CLUB = Topic(
    name="club",
    weight=7,
    subjects=(
        "{club}: {rehearsal|meeting|practice} on {day}",
        "{club} {newsletter|fees|party}",
        "{Volunteers|Drivers|Bakers} wanted for {day}",
        "{club} raffle: the {winners|prizes}",
    ),
    sentences=(
        "{Rehearsal|Practice|The meeting} is {moved to|on} {day} at {time}, in the {hall|church|school} in {town}.",
        "We still {need|look for} {few} {volunteers|drivers|basses|pairs of hands} for the {concert|fair|match}.",
        "The membership fee of {amount} is due {soon}; {please} pay {by transfer|in cash} and {quote|mention} {ref}.",
        "The raffle raised {amount}; first prize, a {watch|hamper|weekend in {town}}, goes to ticket {ref}.",
        "Congratulations to {member}, who won {gold|second place|the quiz}.",
        "{member} offers {a lift|free lessons|spare music} to {anyone|new members}.",
        "The {kettle|roof|piano} is {broken|repaired}, thanks to a {gift|loan} from {member}.",
        "{Doors open|Tea is served} at {time}, guests are {welcome|free}.",
        "{please} {reply|sign up|tell {member}} {soon}.",
    ),
    slots={
        "club": "Choir|Chess club|Allotment society|Rowing club|Film circle",
        "member": "Edith|Mr Keeling|our treasurer|Joan",
    },
    settled=("club", "day"),
    length=(3, 6),
    circle="home",
    attachments=odds(("", 85), ("pdf", 12), ("docx", 3)),
    links=("{The draft|Details|Tickets|More} {here|online}", "{See|Have a look}"),
    link_share=0.2,
)
HOUSE = Topic(
    name="house",
    weight=6,
    subjects=(
        "{Boiler|Roof|Heating|Parking} {on|from} {day}",
        "Flat {d}: {keys|rent|noise|post}",
        "{School trip|Parents' evening|Class {d}}",
        "{Rent|Deposit|Service charge} for {month}",
    ),
    sentences=(
        "The {plumber|electrician|inspector} comes on {day} {at|around} {time}, {please} {be in|leave a key}.",
        "The {rent|service charge} {rises|falls} by {percent} from {month}, to {amount}.",
        "Class {d} {visits|goes to} the {museum|farm|harbour} on {day}, the cost is {amount} {per child|with lunch}.",
        "{please} {return|sign} the {form|slip} {soon}, {unsigned ones do not count|one per family}.",
        "The {insurance|landlord|council} {pays|refuses|offers} {amount} for the {damage|fence|window}.",
        "{Someone|A neighbour} {found|lost} a {watch|key ring|cat|parcel} {on the stairs|by the bins}.",
        "The {lift|heating|door} {works again|is still broken}; {the company|they} promised it for {day}.",
        "If you {have questions|cannot come}, {call me back|write|ring flat {d}}.",
    ),
    length=(2, 5),
    circle="home",
    attachments=odds(("", 88), ("pdf", 12)),
)
ENQUIRY = Topic(
    name="enquiry",
    weight=5,
    subjects=("{Question|Enquiry} about {thing}", "{thing}", "Your {website|advert|talk}", "{Hello|A request}"),
    sentences=(
        "I {saw|found|read} your {advert|website|talk} {online|in the paper} and {ask|write} about {thing}.",
        "Is {thing} still {available|for sale|free}? I {could offer|would pay} {amount}.",
        "{A friend|My cousin} {recommended|mentioned} you, {we met in {town}|you may remember me}.",
        "My business is {small|new}, and our website {gets|has} few visitors, so {please help|any advice is welcome}.",
        "I can {collect it|pay|come by} {soon}, {cash|transfer} is fine.",
        "{please} {call|write to} me, {evenings are best|any day but {day}}.",
        "Sorry to {trouble you|write out of the blue}.",
    ),
    slots={"thing": "the bookcase|the room|the old canoe|your services|the piano lessons|the rental|the translation"},
    settled=("thing",),
    length=(2, 4),
    circle="stranger",
)
TOPICS = (FAMILY, FRIENDS, CLUB, HOUSE, ENQUIRY)
