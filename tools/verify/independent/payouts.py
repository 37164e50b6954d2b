"""Whether the prizes of a round were paid: section 9 of docs/verification.md, and the check `payouts` of section 10."""

from chain import Unreachable
from encoding import (Invalid, amount, base58_decode, demand, fields, integer, jcs, key32, le, program_address, uuid)
from rules import members_hash

MEMO = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
TOKEN = "TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA"
ASSOCIATED = key32("ATokenGPvbdGVxr1b2hvZbsiqW5xWH25efTNsLJA8knL")
PREFIX = b"coinop:payout:"


def token_account(wallet, mint):
    """The associated token account of a wallet."""
    return program_address([key32(wallet), key32(TOKEN), key32(mint)], ASSOCIATED)[0]


def some(value, names):
    """An object that has at least these fields."""
    demand(isinstance(value, dict) and set(names.split()) <= set(value), f"a field of {names} is missing")
    return value


def read_payouts(document, round_id):
    """Raises Invalid unless this is a document of payouts. Returns the payouts by place and the batches by id."""
    some(document, "round payouts batches")
    uuid(document["round"])
    demand(document["round"] == round_id, "the payouts are those of another round")
    payouts, batches = {}, {}
    demand(isinstance(document["payouts"], list) and isinstance(document["batches"], list), "a list is missing")
    for payout in document["payouts"]:
        some(payout, "place wallet amount mint paymentId signature batch")
        integer(payout["place"], 1, 2**32 - 1)
        for check, field in ((key32, "wallet"), (key32, "mint"), (amount, "amount"), (uuid, "paymentId")):
            check(payout[field])
        if payout["batch"] is not None:
            uuid(payout["batch"])
        if payout["signature"] is not None:
            demand(isinstance(payout["signature"], str) and len(base58_decode(payout["signature"])) == 64,
                   "a signature is not one")
        payouts.setdefault(payout["place"], payout)
    for batch in document["batches"]:
        some(batch, "id members")
        uuid(batch["id"])
        demand(isinstance(batch["members"], list) and batch["members"], "a batch has no members")
        members = [fields(m, "paymentId round place wallet amount mint") for m in batch["members"]]
        batches.setdefault(batch["id"], members)
    return payouts, batches


def check_transaction(transaction, batch_id, members, treasury):
    """Raises Invalid unless this transaction pays exactly these members, in their order."""
    message, meta = transaction["transaction"]["message"], transaction["meta"]
    demand(meta["err"] is None, "the transaction failed")
    loaded = meta.get("loadedAddresses") or {"writable": [], "readonly": []}
    keys = message["accountKeys"] + loaded["writable"] + loaded["readonly"]
    memos, transfers = [], []
    for instruction in message["instructions"]:
        program, data = keys[instruction["programIdIndex"]], base58_decode(instruction["data"])
        if program == MEMO and data.startswith(PREFIX):
            memos.append(data)
        if program == TOKEN:
            transfers.append((data, [keys[i] for i in instruction["accounts"]]))
    expected = PREFIX + f"{batch_id}:{members_hash(members).hex()}".encode()
    demand(memos == [expected], "the memo of the transaction is not that of the members")
    demand(len(transfers) == len(members), "the transaction has another number of transfers than members")
    for (data, accounts), member in zip(transfers, members):
        demand(len(data) == 10 and data[0] == 12 and data[1:9] == le(int(member["amount"]), 8),
               f"the transfer of {member['paymentId']} has another amount")
        source, target = token_account(treasury, member["mint"]), token_account(member["wallet"], member["mint"])
        demand([key32(a) for a in accounts[:4]] ==
               [source, key32(member["mint"]), target, key32(treasury)],
               f"the transfer of {member['paymentId']} has other accounts")


def check_payouts(node, document, parameters, winners, commitment, due, began):
    """The check `payouts`. Returns what is late or unpaid, as a list of texts."""
    payouts, batches = read_payouts(document, parameters["round"])
    prizes = {w["place"]: w for w in winners if w["prize"]["amount"] != "0"}
    late, problems, seen = [], [], {}
    for place, winner in prizes.items():
        payout = payouts.get(place)
        if payout is None:
            late.append(f"place {place} has no payment")
            continue
        want = {"wallet": winner["wallet"], **winner["prize"]}
        demand(jcs({k: payout[k] for k in want}) == jcs(want), f"the payment of place {place} differs from the prize")
        if payout["signature"] is None:
            late.append(f"place {place} has no transaction")
            continue
        members = batches.get(payout["batch"])
        demand(members is not None, f"the batch of place {place} is missing")
        prize = {"round": parameters["round"], **{k: payout[k] for k in ("paymentId", "place", *want)}}
        same = [m for m in members if (m["round"], m["place"]) == (prize["round"], place)]
        demand(len(same) == 1 and jcs(same[0]) == jcs(prize), f"place {place} is not in its batch exactly once")
        try:
            signature = payout["signature"]
            if signature not in seen:
                seen[signature] = read_transaction(node, signature, commitment, began)
            check_transaction(seen[signature], payout["batch"], members, parameters["treasury"])
            paid = seen[signature]["blockTime"]
            if paid is None:
                raise Unreachable(f"the node does not know the time of the payment of place {place}")
            if paid < due - 60:
                raise Unreachable(f"place {place} was paid before the result existed, by the clock of the cluster")
            if paid > due + parameters["payWithinSec"] + 60:
                late.append(f"place {place} was paid late")
        except Unreachable as error:  # a payment that is false counts more, so look at the others first
            problems.append(str(error))
    if problems:
        raise Unreachable("; ".join(problems))
    return late


def read_transaction(node, signature, commitment, began):
    """The transaction of a payment. Raises Invalid if it does not exist, or is in no later slot than the commitment."""
    transaction = node.certain(lambda: node.transaction(signature), began)
    if transaction is None:
        if node.first_slot() > commitment["slot"]:
            raise Unreachable("the node does not have blocks of that time any more")
        raise Invalid(f"the transaction {signature} does not exist")
    demand(transaction["slot"] > commitment["slot"], "a payment is in no later slot than the commitment")
    return transaction
