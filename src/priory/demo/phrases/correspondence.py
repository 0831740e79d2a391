"""English ham that people write: at work (projects, meetings, accounts, hiring, code) and at home (family, clubs)."""

from priory.demo.grammar import odds
from priory.demo.topic import TERSE, Topic

PROJECTS = (
    "the Heron report|Project Lantern|the harbour survey|the library website|the Fairlow contract|the spring release"
)
PAPERS = "draft|budget|schedule|proposal|contract|report|summary|spreadsheet|plan|price list"

PROJECT = Topic(
    name="project",
    weight=14,
    subjects=(
        "{project}: {status|progress|next steps|where we stand}",
        "{Comments|Notes|Questions} on the {paper}",
        "{paper} for {day}",
        "{Quick|Small|Last} question about {project}",
        "{project}, {paper} {attached|version {d}|for review}",
    ),
    sentences=(
        "Thanks for the {quick|detailed|helpful|patient} {notes|comments|answer} on {project}.",
        "I {read|looked over} the {paper} {last night|on the train} and it is {nearly there|in good shape}.",
        "The {paper} for {project} is {ready|late again|with {colleague}|on the shared drive|waiting for numbers}.",
        "{colleague} {thinks|says} the {paper} {needs|still lacks} {a table|the figures for {month}|a page on risk}.",
        "We {agreed|promised|offered} to send the {paper} to the client, so {please} {check it|sign it} {soon}.",
        "The client {asked|wonders} whether the price of {amount} is {fixed|guaranteed until {month}|negotiable}.",
        "I {moved|changed|removed} the part about {costs|staff|the deadline}, {nobody|only {colleague}} liked it.",
        "Can we {talk|meet|go over it} on {day} at {time}?",
        "If that is {too early|no good}, {colleague} can {stand in|take notes|call you} {soon}.",
        "There is {no hurry|some urgency} from my side, but the {printer|client|board} {is waiting|wants it {soon}}.",
        "I will {send|circulate|upload} the next {paper} {soon}.",
    ),
    slots={
        "project": PROJECTS,
        "paper": PAPERS,
        "colleague": "Nadia|Colin|the new engineer|our accountant|Ruth|Marcus",
    },
    settled=("project", "paper"),
    attachments=odds(("", 82), ("pdf", 8), ("docx", 8), ("zip", 2)),
    links=("{The draft|Details|Tickets|More} {here|online}", "{See|Have a look}"),
    link_share=0.2,
)
MEETING = Topic(
    name="meeting",
    weight=8,
    subjects=(
        "{Meeting|Call|Review} on {day}",
        "{day} {time}?",
        "{Minutes|Agenda}: {group}, {day}",
        "{Moving|Cancelling} the {group} {meeting|call}",
    ),
    sentences=(
        "The {group} {meeting|call} {moves to|is on|starts at} {day}, {time}, in the {small|large|upstairs} room.",
        "{please} {let me know|tell {colleague}|reply} {soon} {if you can come|whether the time suits you}.",
        "On the agenda: the {budget|holiday rota|website|new offer}, the {office move|open invoices|loan of the van}.",
        "{colleague} will {present|show|explain} the {numbers|plan|survey} for {month}, about {few} slides.",
        "Last time we {decided|agreed} to {wait|hire one more person|pay the suppliers first|cancel the subscription}.",
        "We have {an hour|half an hour}, so {please} {read the notes before|be on time|bring your questions}.",
        "There will be {coffee|cake|sandwiches}, {free for the early ones|as always|thanks to {colleague}}.",
        "The line is {the usual one|in the invitation}, the code is {ref}.",
        "If it is urgent, {call me|call {colleague}|write to the whole group} before {day}.",
    ),
    slots={"group": "design|sales|support|harbour|steering|Tuesday", "colleague": "Nadia|Colin|Emeka|Ruth|Priya|Tom"},
    settled=("group", "day", "time"),
    length=(2, 5),
)
ACCOUNTS = Topic(
    name="accounts",
    weight=7,
    subjects=(
        "Invoice {ref}",
        "{Payment|Invoice|Statement} for {month}",
        "{Overdue|Open} invoice {ref}{|, please check}",
        "{Bank details|Expenses|Purchase order} {ref}",
    ),
    sentences=(
        "{please} find {attached|enclosed} {our|the} invoice {ref} for {work|printing|the repair} in {month}.",
        "The {total|amount due} is {amount}, {payable within {few} weeks|due {soon}|less the deposit}.",
        "Our {bank|system} {shows|has} {no payment for invoice {ref}|two payments of {amount}|another reference}.",
        "The bank {transferred|returned|credited} {amount} to the account on {day}.",
        "{please} {confirm|check|tell us} {which account|the order number|whether this can be paid {soon}}.",
        "You can still {claim|deduct|save} {percent} if the payment {arrives|is made} before {day}.",
        "{colleague} {keeps|sent} the {receipts|credit note|expense forms} for the {trip|fair|workshop} to {town}.",
        "The auditors ask for the {invoices|contracts|loan agreement} of {month}, {urgent as ever|no hurry|by {day}}.",
        "If it was {already paid|settled}, {please} {ignore this|accept our thanks}.",
    ),
    slots={"colleague": "Carol|Neil|the office|our bookkeeper|Leila"},
    settled=("ref", "month"),
    length=(2, 4),
    attachments=odds(("", 45), ("pdf", 48), ("zip", 4), ("docx", 3)),
)
FINANCE = Topic(
    name="finance",
    weight=4,
    subjects=(
        "Your {loan|mortgage|savings} {appointment|question|application} {ref}",
        "{Rates|Interest} {for|in} {month}",
        "{Loan|Credit} agreement {ref}",
        "{Pension|Investment} review on {day}",
    ),
    sentences=(
        "Thank you for {calling|visiting our branch in {town}|your questions} about the {loan|mortgage|savings plan}.",
        "For a loan of {amount} over {few} years the rate is {percent} at present, {fixed|guaranteed until {month}}.",
        "We need {your contract|the last {few} payslips|a valuation of the house} before we {approve|calculate} it.",
        "The investment fund you {asked about|hold} {lost|gained} {percent} in {month}; its {risk|fee} is {low|fair}.",
        "No fee is {charged|due} if you {repay|cancel|change your mind} within {few} weeks.",
        "I {can offer|have} an appointment on {day} at {time}, {in the branch|by telephone}.",
        "We will never ask for your password by mail.",
        "{please} {bring|send} the signed forms {soon}.",
    ),
    length=(3, 5),
    settled=("ref", "percent"),
    attachments=odds(("", 75), ("pdf", 25)),
)
HIRING = Topic(
    name="hiring",
    weight=3,
    subjects=(
        "Application: {post}",
        "{Interview|Talk} on {day}",
        "Our {post} {position|job}",
        "{CV|Reference} of {colleague}",
    ),
    sentences=(
        "{few} people applied for the {post} job, {most|two} of them with {real|long} experience.",
        "{colleague} can {start in {month}|work from home two days|travel}, and asks for a salary of {fortune}.",
        "I would {invite|offer it to|call} {colleague} {soon}; the references are {good|excellent|mixed}.",
        "The interview is on {day} at {time}, {please} {bring questions|read the application before}.",
        "The income {is|was} {below|above} what we {planned|can pay}, {sadly|but let us talk}.",
        "We {promised|owe} an answer by {day}.",
        "The advert costs {amount} a {week|month} and {brought|earned} us {few} {letters|candidates}.",
    ),
    slots={
        "post": "office|driver|engineer|bookkeeping|gardener|editor",
        "colleague": "Ms Farrow|Mr Osei|Hannah|the second one",
    },
    settled=("post", "colleague"),
    length=(2, 5),
    attachments=odds(("", 75), ("pdf", 18), ("docx", 7)),
)
CODE = Topic(
    name="code list",
    weight=9,
    subjects=(
        "[{list}] {crash|wrong result|slow start} {in|with} version {d}.{d}",
        "[{list}] {Patch|Proposal}: {part}",
        "[{list}] {How to|Can I} {replace|test|extend} the {part}?",
        "[{list}] release {d}.{d}.{d}",
    ),
    sentences=(
        "Since version {d}.{d} the {part} {crashes|hangs|returns nothing} when the {file|input|queue} is empty.",
        "I can reproduce it with {few} lines: open the {file|socket}, {write|read} {d}{d} bytes, close it twice.",
        "The {part} was {rewritten|moved} in {month}; the test for it {never ran|passes by luck|is marked slow}.",
        "A {patch|pull request} is {attached|in the tracker under {ref}}, {comments welcome|please review}.",
        "I would {rather|not} {cache|copy|lock} the {file|table} there, it {costs|saves} {percent} of the time.",
        "{Does anybody|Do you} know {why|since when} the {part} {needs|allocates} {d}0 megabytes?",
        "The documentation says {otherwise|nothing about it|it is free of side effects}.",
        "Built with the {default|debug} options on {two machines|a {d}-core board}, same result.",
        "+1 from me, {thanks for the work|let us merge it|but mind the old {part}}.",
    ),
    slots={"list": "tidekit|quern|lanternd", "part": "parser|scheduler|index|cache|importer|date module|command line"},
    length=(2, 5),
    shapes=TERSE,
    greetings=("Hello,", "Hi all,", "Hi,", "", ""),
    settled=("list", "part"),
    circle="list",
    headers=(("List-Id", "<dev.lists.example.org>"), ("Precedence", "list")),
)

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
TOPICS = (PROJECT, MEETING, ACCOUNTS, FINANCE, HIRING, CODE, FAMILY, FRIENDS, CLUB, HOUSE, ENQUIRY)
