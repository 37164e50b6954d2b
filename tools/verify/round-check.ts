import { hash } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';
import { Audit, type LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { parseMemo } from '#lib/draw/commitment.ts';
import { verifyHistory } from '#lib/draw/history.ts';
import { type Anchors, verifyRound } from '#lib/draw/verify.ts';
import { verifySignature } from '#platform/solana/beacon/signature.ts';
import type { Ledger, Received, SignedMemo } from './ledger.ts';
import { Misfit, Unreadable } from './published.ts';
import type { Payout, ShownRound } from './round-published.ts';

/** What the verifier knows otherwise than from the service. */
export interface Witness {
  readonly id: string;
  readonly beacon: BeaconChain;
  readonly committer: string;
  /** What the chain has of this round; null: nothing. */
  readonly landed: LandedCommitment | null;
  readonly leastLeadSec: number;
  readonly leastMarginSec: number;
  /** How signatures are verified: tests remember what they have verified once. */
  readonly verifySignature?: Anchors['verifySignature'];
}

/** What a key has signed that commits to rounds. */
export interface Committer {
  readonly key: string;
  readonly memos: readonly SignedMemo[];
}

/**
 * Which key has committed to a round: the present one where none has. A former one counts until the first commitment of the next: what is
 * signed with it later, by whoever has stolen it, is nothing.
 * @param former the oldest first
 */
export function committerOf(former: readonly Committer[], present: Committer, round: string): Committer {
  for (const [i, { key, memos }] of former.entries()) {
    const until = Math.min(...[...former.slice(i + 1), present].map(beginningOf));
    const own = memos.filter(({ slot }) => slot < until);
    if (own.some(({ memo }) => parseMemo(memo)?.round === round)) return { key, memos: own };
  }
  return present;
}

/** The slot of a key's first commitment. */
const beginningOf = ({ memos }: Committer) => memos.find(({ memo }) => parseMemo(memo) !== null)?.slot ?? Number.POSITIVE_INFINITY;

/**
 * The commitment of a round among all that its committer ever signed.
 * @param begins the first block of the node's history, asked for where its beginning is missing
 * @throws Misfit naming the transaction that shows a gap, a second use or a broken link
 */
export async function commitmentIn(memos: readonly SignedMemo[], round: string, begins: () => Promise<number>): Promise<SignedMemo | null> {
  const history = verifyHistory(memos);
  if (history.ok) return history.byRound.get(round) ?? null;
  if (history.why.startsWith('sequence number 1 is missing')) {
    const first = await begins();
    if (first > 1) throw new Unreadable(`the node’s history begins at block ${first}, after the first commitment: --rpc one that has all of it`);
  }
  throw new Misfit(`transaction ${history.wrong}: ${history.why}`);
}

const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'buffer');

/**
 * Checks a round against everything that is known of it, without asking anybody.
 * @param say is told of each check that passed, in a sentence
 * @throws Misfit naming the first thing that does not fit
 */
export function checkRound(shown: ShownRound, witness: Witness, say: (line: string) => void): Audit {
  const { id, landed, ...known } = witness;
  const verdict = verifyRound(shown.audit, shown.entries, { verifySignature, ...known, landed });
  if (!verdict.ok) throw new Misfit(`${verdict.wrong}: ${verdict.why}`);
  const audit = Audit.parse(shown.audit);
  expect('round', audit.round, id);
  // `verifyRound` takes an audit's word for what nobody tells it.
  if (audit.commitment !== null && landed === null) throw new Misfit('commitment: nothing of this round stands on the chain');
  expect('parameters.kind', audit.parameters.kind, shown.kind);
  say(`${audit.entries.count} entries under the root ${audit.entries.root ?? 'none'}`);
  checkTree(audit);
  say('their tree, by another implementation: the same root, and the winners’ proofs lead to it');
  const { commitment, beacon, draw } = audit;
  if (commitment !== null)
    say(`commitment ${commitment.sequence} in slot ${commitment.slot} at ${commitment.blockTime}: names these entries and rules`);
  if (beacon !== null)
    say(`beacon round ${beacon.round}, due ${beacon.dueAt}: ${beacon.signature === null ? 'no signature' : 'its signature verifies'}`);
  if (draw !== null)
    say(`drawn again from the seed ${draw.seed}: ${draw.numbers.length > 0 ? `numbers ${draw.numbers.join(' ')}` : `ticket ${draw.drawn[0]}`}`);
  if (audit.void !== null) say(`void for a reason that holds: ${audit.void}`);
  if (audit.void === 'no-beacon') say('(that its round could not be had for 24 hours, only somebody who asked then can tell)');
  checkShown(shown, audit);
  if (audit.winners !== null) say(`${audit.winners.length} winners, the same everywhere`);
  return audit;
}

/** By an implementation that is not the service's: nodes are sorted pairs, an odd one moves up. */
function checkTree({ void: reason, entries, entryHashes, winners }: Audit): void {
  if (entries.root === null || reason === 'entries-differ') return;
  const tree = new MerkleTree(
    entryHashes.map((leaf) => Buffer.from(leaf, 'hex')),
    sha256,
    { sortPairs: true },
  );
  expect('entries.root', entries.root, tree.getRoot().toString('hex'));
  for (const [i, { leaf, proof }] of (winners ?? []).entries()) {
    const siblings = proof.map((sibling) => Buffer.from(sibling, 'hex'));
    const leads = MerkleTree.verify(siblings, Buffer.from(leaf, 'hex'), tree.getRoot(), sha256, { sortPairs: true });
    if (!leads) throw new Misfit(`winners[${i}].proof: does not lead to the root`);
  }
}

function expect(what: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new Misfit(`${what}: is ${shown}, but must be ${found}`);
}

/** What is told elsewhere is what the audit says. */
function checkShown({ winners, payouts, legacy }: ShownRound, audit: Audit): void {
  for (const [list, shown] of Object.entries({ winners, payouts })) {
    if (shown === null) continue;
    expect(`the number of ${list} that are told`, shown.length, audit.winners?.length ?? 0);
    for (const [i, winner] of (audit.winners ?? []).entries()) {
      const told = shown[i];
      const field = (name: string, found: unknown, due: unknown) => expect(`${name} of ${list}[${i}] that is told`, found, due);
      field('place', told?.place, winner.place);
      field('wallet', told?.wallet, winner.wallet);
      field('amount', told?.prize.amount, winner.prize.amount);
      field('mint', told?.prize.address, winner.prize.mint);
    }
  }
  for (const [i, told] of (winners ?? []).entries()) {
    expect(`entryIndex of winners[${i}] that is told`, told.entryIndex, audit.winners?.[i]?.index);
    expect(`matches of winners[${i}] that is told`, told.matches, audit.winners?.[i]?.matches);
  }
  if (legacy === null) return;
  expect('entries of the round that is told', legacy.entries, audit.entries.count);
  expect('winningTicket of the round that is told', legacy.winningTicket, audit.draw?.drawn[0] ?? null);
  expect('winner of the round that is told', legacy.winner, audit.winners?.[0]?.wallet ?? null);
}

/**
 * Looks on the chain for every prize that is said to be paid.
 * @throws Misfit where a transaction is not there or pays less; Unreadable where the node does not reach back to it
 */
export async function checkPayouts(payouts: readonly Payout[], audit: Audit, ledger: Ledger, say: (line: string) => void): Promise<void> {
  const claimed = payouts.filter(({ status }) => status === 'completed');
  const seen = new Map<string, Received[] | null>();
  for (const { signature } of claimed) if (signature !== null && !seen.has(signature)) seen.set(signature, await ledger.received(signature));
  for (const { place, wallet, prize, signature } of claimed) {
    if (signature === null) {
      say(`place ${place}: said to be paid outside the chain, by the service’s orchestrator`);
      continue;
    }
    const received = seen.get(signature) ?? null;
    if (received === null) {
      const begins = await ledger.begins();
      if (begins > (audit.commitment?.slot ?? 0)) throw new Unreadable(`the node’s history begins at block ${begins}, after the round`);
      throw new Misfit(`payouts[${place - 1}].signature: ${signature} is no finalized transaction that succeeded`);
    }
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
    const isOwn = (one: { wallet: string }, mint: string) => one.wallet === wallet && mint === prize.address;
    const paid = sum(received.filter((one) => isOwn(one, one.mint)).map(({ amount }) => amount));
    // One transaction may pay several of its prizes.
    const due = sum(claimed.filter((one) => one.signature === signature && isOwn(one, one.prize.address)).map((one) => BigInt(one.prize.amount)));
    if (paid < due) throw new Misfit(`payouts[${place - 1}].signature: ${signature} pays ${wallet} ${paid} of ${due}`);
  }
  if (payouts.length > 0) say(`${claimed.length} of ${payouts.length} prizes are paid, as the chain says too`);
}
