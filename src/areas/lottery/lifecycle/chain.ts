import type { PublicKey, VersionedTransactionResponse } from '@solana/web3.js';
import type { LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { MEMO_PREFIX } from '#lib/draw/commitment.ts';
import { unavailable } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { instructionsOf, memosOf, signersOf } from '#platform/solana/instructions.ts';
import { rpc } from '#platform/solana/solana.ts';
import { MEMO_PROGRAM } from '#platform/solana/tokens.ts';

const MEMOS = MEMO_PROGRAM.toBase58();

/** Signatures in one answer: the most that nodes give. */
const PAGE = 1_000;
/** Pages of the committer's history that one look reads: anybody may name its address, for the fee of a transaction each. */
const MOST_PAGES = 200;
const READS_AT_ONCE = 8;
/** Strangers' transactions that are remembered, so that they are read once. */
const MOST_KNOWN = 100_000;

/** A memo that means to be a commitment, signed by the committer. */
export interface FoundMemo {
  readonly memo: string;
  readonly signature: string;
  readonly slot: number;
  /** It may still vanish. */
  readonly final: boolean;
}

/** The commitment's memo in a transaction that succeeded; null where there is none that the committer signed. */
function memoIn(found: VersionedTransactionResponse, committer: PublicKey): string | null {
  const key = committer.toBase58();
  if (found.meta?.err !== null || !signersOf(found).includes(key)) return null;
  // Anybody may name the key: only a memo that it signs is its own.
  const signed = instructionsOf(found).filter(({ program, accounts }) => program === MEMOS && accounts.includes(key));
  return memosOf(signed).find((memo) => memo.startsWith(MEMO_PREFIX)) ?? null;
}

const read = (app: App, signature: string, commitment: 'confirmed' | 'finalized') =>
  rpc(() => app.chain.connection.getTransaction(signature, { commitment, maxSupportedTransactionVersion: 1 }));

/** A commitment that a key has signed as it stands in its finalized block; null while the node does not have all of it. */
export async function readLanded(app: App, signature: string, committer: PublicKey): Promise<LandedCommitment | null> {
  const found = await read(app, signature, 'finalized');
  const memo = found && memoIn(found, committer);
  if (!found || memo === null) return null;
  const { slot } = found;
  const block = await rpc(() =>
    app.chain.connection.getBlock(slot, { commitment: 'finalized', maxSupportedTransactionVersion: 1, transactionDetails: 'none', rewards: false }),
  );
  const blockTime = block?.blockTime ?? null;
  if (!block || blockTime === null) return null;
  return { memo, committer: committer.toBase58(), signature, slot, blockhash: block.blockhash, blockTime: instantOf(blockTime * 1_000) };
}

/** What is known not to be a commitment of ours, though it looks like one in a list. */
const strangers = new WeakMap<App['chain'], Set<string>>();

/**
 * The commitments on the chain since a transaction (of all times without one), confirmed or final, oldest first.
 * @throws 503 while the node does not tell all of it
 */
export async function commitmentsSince(app: App, since: { readonly signature: string; readonly slot: number } | null): Promise<FoundMemo[]> {
  const committer = app.chain.address('committer');
  const known = strangers.get(app.chain) ?? new Set();
  strangers.set(app.chain, known);
  const listed = (await listMentions(app, committer, since)).filter(({ signature }) => !known.has(signature));
  const found = new Map<string, FoundMemo>();
  const next = listed.values();
  const work = async () => {
    for (const { signature, slot, final } of next) {
      const transaction = await read(app, signature, 'confirmed');
      if (!transaction) throw unavailable('the node lists a transaction that it does not have', 2);
      const memo = memoIn(transaction, committer);
      if (memo !== null) found.set(signature, { memo, signature, slot, final });
      else if (final && known.size < MOST_KNOWN) known.add(signature);
    }
  };
  await Promise.all(Array.from({ length: READS_AT_ONCE }, work));
  return listed.flatMap(({ signature }) => found.get(signature) ?? []);
}

type Mention = Omit<FoundMemo, 'memo'>;

/** Transactions that name the committer and may hold a commitment, whoever sent them, oldest first: not every node keeps memos for its lists. */
async function listMentions(app: App, committer: PublicKey, since: { readonly signature: string; readonly slot: number } | null): Promise<Mention[]> {
  const mentions: Mention[] = [];
  let before: string | undefined;
  for (let page = 0; page < MOST_PAGES; page++) {
    const options = { limit: PAGE, ...(since ? { until: since.signature } : {}), ...(before ? { before } : {}) };
    const listed = await rpc(() => app.chain.connection.getSignaturesForAddress(committer, options, 'confirmed'));
    // A node that has forgotten where to stop goes on behind it.
    const recent = listed.filter(({ slot, signature }) => since === null || (slot >= since.slot && signature !== since.signature));
    for (const { signature, slot, err, memo, confirmationStatus } of recent) {
      if (err === null && (memo === null || memo.includes(MEMO_PREFIX)))
        mentions.push({ signature, slot, final: confirmationStatus === 'finalized' });
    }
    if (listed.length < PAGE || recent.length < listed.length) return mentions.reverse();
    before = listed.at(-1)?.signature;
  }
  throw unavailable('the history of the committer is too long to be read at once', 60);
}
