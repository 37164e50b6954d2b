"""Parameters, entries, statements, the result of a round, payouts and rewards: sections 2, 3, 4, 6, 8, 9 and 11 of
docs/verification.md, as functions without any access to the network."""

import hmac

from encoding import (amount, demand, fields, hex_bytes, instant, integer, is_signed, jcs, key32, le, lp, name,
                      read_json, sha256, uuid)

ROUND = ("version kind round entryRules opensAt closesAt leadSec commitWithinSec drawWithinSec payWithinSec draws "
         "treasury genesisHash ")
ENTRY = "index wallet numbers source messageId at"


def check_parameters(p):
    """Section 2. Raises Invalid unless the parameters are valid, and returns their hash."""
    demand(isinstance(p, dict) and p.get("kind") in ("chat", "legacy"), "unknown kind of round")
    chat = p["kind"] == "chat"
    fields(p, ROUND + ("picks range prizes maxEntriesPerWallet" if chat
                       else "ticketPrice mint maxTickets maxTicketsPerWallet"))
    integer(p["version"], 2, 2)
    uuid(p["round"])
    demand(instant(p["opensAt"]) < instant(p["closesAt"]), "opensAt is not before closesAt")
    for field, high in (("leadSec", 86400), ("commitWithinSec", 120), ("drawWithinSec", 86400),
                        ("payWithinSec", 604800)):
        integer(p[field], 1, high)
    for field in ("draws", "treasury", "genesisHash"):
        key32(p[field])
    rules = fields(p["entryRules"], "minTokenBalance minAcceptedScores linkedAccount signedInBefore")
    for field, check in (("minTokenBalance", check_money), ("minAcceptedScores", lambda v: integer(v, 1, 10**6)),
                         ("linkedAccount", name), ("signedInBefore", instant)):
        if rules[field] is not None:
            check(rules[field])
    if chat:
        integer(p["range"], 1, 255)
        integer(p["picks"], 1, p["range"])
        integer(p["maxEntriesPerWallet"], 1, 10**6)
        demand(isinstance(p["prizes"], list) and 1 <= len(p["prizes"]) <= 100, "not 1 to 100 prizes")
        for place, prize in enumerate(p["prizes"], 1):
            check_money(prize, "place amount mint")
            integer(prize["place"], place, place)
    else:
        check_money({"amount": p["ticketPrice"], "mint": p["mint"]})
        for field in ("maxTickets", "maxTicketsPerWallet"):
            if p[field] is not None:
                integer(p[field], 1, 2**32 - 1)
    return sha256(lp("coinop/parameters/1"), lp(jcs(p)))


def check_money(value, names="amount mint"):
    """An amount of a mint."""
    fields(value, names)
    amount(value["amount"])
    key32(value["mint"])


def check_entry(entry):
    """Raises Invalid unless the values of the entry's fields are of their kinds."""
    integer(entry["index"], 0, 2**32 - 1)
    key32(entry["wallet"])
    demand(isinstance(entry["numbers"], list) and len(entry["numbers"]) <= 255, "numbers are not a list")
    for number in entry["numbers"]:
        integer(number, 1, 255)
    name(entry["source"])
    text = entry["messageId"]
    demand(isinstance(text, str) and 1 <= len(text.encode("utf-16-le")) // 2 <= 256, "messageId is not 1 to 256 long")
    instant(entry["at"])


def entry_leaf(round_id, entry):
    """The leaf of an entry, section 3."""
    message = sha256(lp(entry["source"]), lp(entry["messageId"]), lp(le(instant(entry["at"]), 8)))
    numbers = entry["numbers"]
    return sha256(b"\x02", sha256(b"coinop/entry/1"), uuid(round_id), le(entry["index"], 4), key32(entry["wallet"]),
                  bytes([len(numbers)]), bytes(numbers), message)


def read_entries(data, p, closed_at):
    """Reads published entries and raises Invalid where a line or a rule is broken."""
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    chat, entries, messages, per_wallet, last = p["kind"] == "chat", [], set(), {}, instant(p["opensAt"])
    for index, line in enumerate(lines):
        entry = fields(read_json(line), ENTRY)
        check_entry(entry)
        demand(entry["index"] == index, f"index {entry['index']} where {index} is due")
        numbers, at = entry["numbers"], instant(entry["at"])
        demand(len(numbers) == (p["picks"] if chat else 0), f"entry {index}: wrong count of numbers")
        demand(all(1 <= n <= p["range"] for n in numbers), f"entry {index}: a number is out of range")
        demand(numbers == sorted(set(numbers)), f"entry {index}: numbers are not different and ascending")
        message = entry["source"], entry["messageId"]
        demand(message not in messages, f"entry {index}: its message appears twice")
        messages.add(message)
        per_wallet[entry["wallet"]] = count = per_wallet.get(entry["wallet"], 0) + 1
        limit = p["maxEntriesPerWallet"] if chat else p["maxTicketsPerWallet"]
        demand(limit is None or count <= limit, f"entry {index}: too many of its wallet")
        demand(last <= at < instant(p["closesAt"]) and at <= closed_at, f"entry {index}: its time is not allowed")
        last = at
        entries.append(entry)
    demand(chat or p["maxTickets"] is None or len(entries) <= p["maxTickets"], "too many tickets")
    return entries


def running_hashes(parameters_hash, leaves):
    """h₀ and the running hash after each entry."""
    out = [parameters_hash]
    for leaf in leaves:
        out.append(sha256(out[-1], leaf))
    return out


def node(a, b):
    """The parent of two nodes of a tree."""
    return sha256(min(a, b), max(a, b))


def tree(leaves):
    """All levels of the Merkle tree, from the leaves to the root."""
    levels = [list(leaves)]
    while len(levels[-1]) > 1:
        level = levels[-1]
        odd = level[-1:] if len(level) % 2 else []
        levels.append([node(a, b) for a, b in zip(level[::2], level[1::2])] + odd)
    return levels


def proof(levels, index):
    """The siblings of a leaf, upwards."""
    out = []
    for level in levels[:-1]:
        if index ^ 1 < len(level):
            out.append(level[index ^ 1])
        index //= 2
    return out


def derived_numbers(entry_id, wallet, picks, size):
    """The numbers of an entry that was sent without numbers."""
    return sorted(draw_numbers(sha256(uuid(entry_id), key32(wallet)), picks, size)[0])


STATEMENTS = {
    "coinop/announcement/1": "announcedAt",
    "coinop/receipt/1": "entry leaf runningHash " + ENTRY,
    "coinop/closed/1": "closedAt count runningHash",
}


def check_statement(signed, expected=None):
    """Raises Invalid unless this has the form of a signed statement (of the expected type), and returns it."""
    fields(signed, "statement signature")
    hex_bytes(signed["signature"], 64)
    s = signed["statement"]
    demand(isinstance(s, dict) and str(s.get("type")) in STATEMENTS, "unknown type of statement")
    demand(expected in (None, s["type"]), f"{s['type']} in the place of {expected}")
    fields(s, "type draws round parametersHash " + STATEMENTS[s["type"]])
    checks = {"draws": key32, "round": uuid, "parametersHash": hex_bytes, "announcedAt": instant, "closedAt": instant,
              "entry": uuid, "leaf": hex_bytes, "runningHash": hex_bytes, "count": lambda v: integer(v, 0, 2**32 - 1)}
    for field in set(checks) & set(s):
        checks[field](s[field])
    if s["type"] == "coinop/receipt/1":
        check_entry(s)
    return s


def has_signature(signed, receipt_key):
    """Whether a statement is signed by the receipt key."""
    return is_signed(receipt_key, jcs(signed["statement"]).encode(), bytes.fromhex(signed["signature"]))


def round_leaf(round_id, root, count, running_hash, parameters_hash, closed_at):
    """The leaf of a round, section 6."""
    return sha256(lp("coinop/round/1"), uuid(round_id), root, le(count, 4), running_hash, parameters_hash,
                  closed_at.to_bytes(8, "little", signed=True))


def draw_seed(round_id, leaf, chain_hash, beacon_round, randomness, blockhash):
    """The seed of a round, section 8."""
    parts = uuid(round_id), leaf, chain_hash, le(beacon_round, 8), randomness, blockhash
    return sha256(lp("coinop/draw/2"), *map(lp, parts))


def raw_values(seed, label):
    """The endless stream of raw values of a label."""
    counter = 0
    while True:
        yield int.from_bytes(hmac.digest(seed, label.encode() + le(counter, 8), "sha256")[:8], "little")
        counter += 1


class Stream:
    """Draws integers from raw values, and keeps the record that an audit shows."""

    def __init__(self, raws):
        self.raws, self.used, self.draws = iter(raws), 0, []

    def below(self, n):
        """The next integer below n."""
        rejected = []
        for raw in self.raws:
            self.used += 1
            if raw < 2**64 - 2**64 % n:
                self.draws.append({"counter": self.used - 1, "bound": n, "raw": str(raw), "rejected": rejected,
                                   "value": raw % n})
                return raw % n
            rejected.append(str(raw))


def draw_numbers(seed, picks, size):
    """The winning numbers in drawn order, and the record."""
    stream, numbers = Stream(raw_values(seed, "numbers/1")), list(range(1, size + 1))
    for i in range(picks):
        j = i + stream.below(size - i)
        numbers[i], numbers[j] = numbers[j], numbers[i]
    return numbers[:picks], stream.draws


def tie(seed, index):
    """The value that orders entries with equal matches."""
    return hmac.digest(seed, b"tie/1" + le(index, 4), "sha256")


def result(seed, p, entries):
    """The fields `draw` and `winners` of the audit."""
    if p["kind"] == "legacy":
        stream = Stream(raw_values(seed, "ticket/1"))
        index = stream.below(len(entries))
        draw = {"seed": seed.hex(), "label": "ticket/1", "draws": stream.draws, "drawn": [index], "numbers": []}
        prize = {"amount": str(int(p["ticketPrice"]) * len(entries)), "mint": p["mint"]}
        return draw, [{"place": 1, "index": index, "wallet": entries[index]["wallet"], "matches": None, "tie": None,
                       "prize": prize}]
    drawn, draws = draw_numbers(seed, p["picks"], p["range"])
    draw = {"seed": seed.hex(), "label": "numbers/1", "draws": draws, "drawn": drawn, "numbers": sorted(drawn)}
    ranked = []
    for entry in entries:
        matches = len(set(entry["numbers"]) & set(drawn))
        if matches:
            ranked.append((-matches, tie(seed, entry["index"]), entry["index"]))
    first = {}
    for rank in sorted(ranked):
        first.setdefault(entries[rank[2]]["wallet"], rank)
    winners = []
    for prize, (wallet, (matches, order, index)) in zip(p["prizes"], first.items()):
        winners.append({"place": prize["place"], "index": index, "wallet": wallet, "matches": -matches,
                        "tie": order.hex(), "prize": {"amount": prize["amount"], "mint": prize["mint"]}})
    return draw, winners


def check_member(m):
    """Raises Invalid unless this is a member of a batch of payments, and returns its 108 bytes."""
    fields(m, "paymentId round place wallet amount mint")
    demand((m["round"] is None) == (m["place"] is None), "round and place are not null together")
    prize = bytes(20) if m["round"] is None else uuid(m["round"]) + le(integer(m["place"], 1, 2**32 - 1), 4)
    return uuid(m["paymentId"]) + prize + key32(m["wallet"]) + le(amount(m["amount"]), 8) + key32(m["mint"])


def members_hash(members):
    """The hash of all members of a batch, section 9."""
    return sha256(lp("coinop/payout/1"), le(len(members), 4), *map(check_member, members))


def epoch_leaf(epoch, index, wallet, units):
    """The leaf of a reward, section 11."""
    return sha256(b"\0", le(epoch, 8), le(index, 4), key32(wallet), le(units, 8))


def allocate(pool, cap, dust, points):
    """Formula 1: the amount of each wallet, from its points."""
    cap = pool if cap is None else min(cap, pool)
    amounts, rest, open_ = dict.fromkeys(points, 0), pool, {w: n for w, n in points.items() if n > 0}
    if cap * len(open_) <= pool:
        rest, amounts, open_ = 0, {**amounts, **dict.fromkeys(open_, cap)}, {}
    while open_:
        total = sum(open_.values())
        full = [w for w, n in open_.items() if rest * n >= cap * total]
        if not full:
            break
        for wallet in full:
            amounts[wallet] = cap
            del open_[wallet]
        rest -= cap * len(full)
    if open_:
        total = sum(open_.values())
        for wallet, n in open_.items():
            amounts[wallet] = rest * n // total
        left = rest - sum(amounts[w] for w in open_)
        for wallet in sorted(open_, key=lambda w: (-(rest * open_[w] % total), w.encode()))[:left]:
            amounts[wallet] += 1
    return {w: (n if n >= dust else 0) for w, n in amounts.items()}
