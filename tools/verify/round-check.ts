import { hash } from 'node:crypto';
import { MerkleTree } from 'merkletreejs';
import { Audit, type LandedCommitment } from '#lib/draw/audit.ts';
import type { BeaconChain } from '#lib/draw/beacon-chain.ts';
import { parseMemo } from '#lib/draw/commitment.ts';
import { verifyHistory } from '#lib/draw/history.ts';
import { type TrustAnchors, verifyRound } from '#lib/draw/verify.ts';
import { verifySignature } from '#platform/solana/beacon/index.ts';
import type { BalanceChange, ChainReader, SignedMemo } from './chain-reader.ts';
import { Unreadable, VerificationFailure } from './epoch-published.ts';
import type { Payout, PublishedRound } from './round-published.ts';

/** Values that the verifier does not take from the round's published data. */
export interface TrustedValues {
  readonly id: string;
  readonly beacon: BeaconChain;
  readonly committer: string;
  /** The commitment of this round on the chain; null when the chain has none. */
  readonly landed: LandedCommitment | null;
  readonly minLeadSec: number;
  readonly minMarginSec: number;
  /** Verifies a beacon signature. Tests replace this function with a cached version. */
  readonly verifySignature?: TrustAnchors['verifySignature'];
}

/** A committer key and the memos that it signed. */
export interface Committer {
  readonly key: string;
  readonly memos: readonly SignedMemo[];
}

/**
 * Returns the key that signed the commitment of a round; the present key when the round has no commitment. A former key is valid until the first
 * commitment of any newer key. Signatures that a former key makes after that are ignored, because the former key may have been stolen.
 * @param former the former keys, oldest first
 */
export function findCommitter(former: readonly Committer[], present: Committer, round: string): Committer {
  for (const [i, { key, memos }] of former.entries()) {
    const until = Math.min(...[...former.slice(i + 1), present].map(firstCommitmentSlot));
    const own = memos.filter(({ slot }) => slot < until);
    if (own.some(({ memo }) => parseMemo(memo)?.round === round)) return { key, memos: own };
  }
  return present;
}

/**
 * Returns the slot of a key's first commitment. Returns Infinity when the key has no commitment, so that the key does not end the validity of older
 * keys.
 */
const firstCommitmentSlot = ({ memos }: Committer) => memos.find(({ memo }) => parseMemo(memo) !== null)?.slot ?? Number.POSITIVE_INFINITY;

/**
 * Finds the commitment of a round among all memos of its committer.
 * @param firstBlock a function that returns the slot of the first block of the RPC node; called when the first commitment is missing
 * @throws VerificationFailure with the transaction that shows a gap, a repetition or a wrong previous hash; Unreadable when the RPC node lacks old
 * blocks, so that the first commitment may be in one of them
 */
export async function findCommitment(memos: readonly SignedMemo[], round: string, firstBlock: () => Promise<number>): Promise<SignedMemo | null> {
  const history = verifyHistory(memos);
  if (history.ok) return history.byRound.get(round) ?? null;
  if (history.reason.startsWith('sequence number 1 is missing')) {
    const first = await firstBlock();
    if (first > 1)
      throw new Unreadable(
        `the RPC node has no blocks before ${first}, so the first commitment is missing; pass --rpc with a node that has the full history`,
      );
  }
  throw new VerificationFailure(`transaction ${history.where}: ${history.reason}`);
}

const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'buffer');

/**
 * Verifies a published round offline.
 * @param print a function that receives one sentence per passed check
 * @throws VerificationFailure with the first mismatch
 */
export function checkRound(shown: PublishedRound, trusted: TrustedValues, print: (line: string) => void): Audit {
  const { id, landed, ...rest } = trusted;
  const verdict = verifyRound(shown.audit, shown.entries, { verifySignature, ...rest, landed });
  if (!verdict.ok) throw new VerificationFailure(`${verdict.where}: ${verdict.reason}`);
  const audit = Audit.parse(shown.audit);
  assertEqual('round', audit.round, id);
  // When `landed` is null, `verifyRound` trusts the commitment in the audit. Therefore this line rejects an audit with a commitment that is not on
  // the chain.
  if (audit.commitment !== null && landed === null) throw new VerificationFailure('commitment: the chain has no commitment of this round');
  assertEqual('parameters.kind', audit.parameters.kind, shown.kind);
  print(`${audit.entries.count} entries under the root ${audit.entries.root ?? 'none'}`);
  checkTree(audit);
  print('tree recomputed with another implementation: same root, and the proofs of the winners are valid');
  const { commitment, beacon, draw } = audit;
  if (commitment !== null)
    print(`commitment ${commitment.sequence} in slot ${commitment.slot} at ${commitment.blockTime}: it matches these entries and rules`);
  if (beacon !== null)
    print(`beacon round ${beacon.round}, due ${beacon.dueAt}: ${beacon.signature === null ? 'no signature' : 'its signature is valid'}`);
  if (draw !== null)
    print(`draw recomputed from seed ${draw.seed}: ${draw.numbers.length > 0 ? `numbers ${draw.numbers.join(' ')}` : `ticket ${draw.drawn[0]}`}`);
  if (audit.void !== null) print(`void for a valid reason: ${audit.void}`);
  if (audit.void === 'no-beacon') print('(it cannot be verified afterwards whether the beacon round was unavailable for 24 hours)');
  checkOtherEndpoints(shown, audit);
  if (audit.winners !== null) print(`${audit.winners.length} winners, equal in all responses`);
  return audit;
}

/**
 * Recomputes the root with merkletreejs, an implementation independent of the service. A parent node is the hash of its two children in sorted order;
 * a last node without a partner moves up unchanged.
 */
function checkTree({ void: reason, entries, entryHashes, winners }: Audit): void {
  if (entries.root === null || reason === 'entries-differ') return;
  const tree = new MerkleTree(
    entryHashes.map((leaf) => Buffer.from(leaf, 'hex')),
    sha256,
    { sortPairs: true },
  );
  assertEqual('entries.root', entries.root, tree.getRoot().toString('hex'));
  for (const [i, { leaf, proof }] of (winners ?? []).entries()) {
    const siblings = proof.map((sibling) => Buffer.from(sibling, 'hex'));
    const leads = MerkleTree.verify(siblings, Buffer.from(leaf, 'hex'), tree.getRoot(), sha256, { sortPairs: true });
    if (!leads) throw new VerificationFailure(`winners[${i}].proof: does not lead to the root`);
  }
}

function assertEqual(name: string, shown: unknown, found: unknown): void {
  if (shown !== found) throw new VerificationFailure(`${name}: is ${shown}, but must be ${found}`);
}

/** Compares the responses of the endpoints for winners, payouts and the legacy result with the audit. */
function checkOtherEndpoints({ winners, payouts, legacy }: PublishedRound, audit: Audit): void {
  for (const [list, shown] of Object.entries({ winners, payouts })) {
    if (shown === null) continue;
    assertEqual(`the number of published ${list}`, shown.length, audit.winners?.length ?? 0);
    for (const [i, winner] of (audit.winners ?? []).entries()) {
      const published = shown[i];
      const field = (name: string, found: unknown, due: unknown) => assertEqual(`${name} of published ${list}[${i}]`, found, due);
      field('place', published?.place, winner.place);
      field('wallet', published?.wallet, winner.wallet);
      field('amount', published?.prize.amount, winner.prize.amount);
      field('mint', published?.prize.address, winner.prize.mint);
    }
  }
  for (const [i, published] of (winners ?? []).entries()) {
    assertEqual(`entryIndex of published winners[${i}]`, published.entryIndex, audit.winners?.[i]?.index);
    assertEqual(`matches of published winners[${i}]`, published.matches, audit.winners?.[i]?.matches);
  }
  if (legacy === null) return;
  assertEqual('entries of the published round', legacy.entries, audit.entries.count);
  assertEqual('winningTicket of the published round', legacy.winningTicket, audit.draw?.drawn[0] ?? null);
  assertEqual('winner of the published round', legacy.winner, audit.winners?.[0]?.wallet ?? null);
}

/**
 * Checks on the chain every prize that the service reports as paid.
 * @throws VerificationFailure when a transaction is missing or pays less; Unreadable when the RPC node no longer has the blocks of these transactions
 */
export async function checkPayouts(payouts: readonly Payout[], audit: Audit, chain: ChainReader, print: (line: string) => void): Promise<void> {
  const claimed = payouts.filter(({ status }) => status === 'completed');
  const seen = new Map<string, BalanceChange[] | null>();
  for (const { signature } of claimed) if (signature !== null && !seen.has(signature)) seen.set(signature, await chain.received(signature));
  for (const { place, wallet, prize, signature } of claimed) {
    if (signature === null) {
      print(`place ${place}: reported as paid outside the chain, by the orchestrator of the service`);
      continue;
    }
    const received = seen.get(signature) ?? null;
    if (received === null) {
      const first = await chain.firstBlock();
      if (first > (audit.commitment?.slot ?? 0))
        throw new Unreadable(`the RPC node has no blocks before ${first}, so the payouts of this round cannot be checked`);
      throw new VerificationFailure(`payouts[${place - 1}].signature: ${signature} is not a finalized successful transaction`);
    }
    const sum = (amounts: readonly bigint[]) => amounts.reduce((total, amount) => total + amount, 0n);
    const isOwn = (one: { wallet: string }, mint: string) => one.wallet === wallet && mint === prize.address;
    const paid = sum(received.filter((one) => isOwn(one, one.mint)).map(({ amount }) => amount));
    // One transaction may pay several prizes to a wallet, so the sum of these prizes is compared with the amount that the wallet received.
    const due = sum(claimed.filter((one) => one.signature === signature && isOwn(one, one.prize.address)).map((one) => BigInt(one.prize.amount)));
    if (paid < due) throw new VerificationFailure(`payouts[${place - 1}].signature: ${signature} pays ${paid} of ${due} to ${wallet}`);
  }
  if (payouts.length > 0) print(`${claimed.length} of ${payouts.length} prizes are paid, confirmed on the chain`);
}
