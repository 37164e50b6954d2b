import type { LandedCommitment } from '#lib/draw/audit.ts';
import { instantOf } from '#lib/draw/bytes.ts';
import { MEMO_PREFIX } from '#lib/draw/commitment.ts';
import { unavailable } from '#lib/errors.ts';
import { type App, perApp } from '#platform/app.ts';
import { type FetchedTransaction, memosOf } from '#platform/solana/fetched-transaction.ts';
import type { Address } from '#platform/solana/primitives.ts';
import { MEMO_PROGRAM } from '#platform/solana/tokens.ts';

const MEMOS = MEMO_PROGRAM.toBase58();

/** Signatures per page: the maximum that RPC nodes allow. */
const PAGE = 1_000;
/**
 * Maximum pages per read of the transaction history of the committer (the key that signs commitments). The limit is necessary because any wallet can
 * add transactions to this history by naming the committer's address.
 */
const MAX_PAGES = 200;
const MAX_CONCURRENT_READS = 8;
/** Maximum signatures that a process remembers of transactions without a commitment. A remembered transaction is not read again. */
const MAX_REMEMBERED = 100_000;

/** A memo that the committer signed and that begins with the prefix of commitments. */
interface CommitmentMemo {
  readonly memo: string;
  readonly signature: string;
  readonly slot: number;
  /** Whether the transaction is finalized. A transaction that is only confirmed may still disappear. */
  readonly final: boolean;
}

/** Returns the commitment memo that the committer signed in a transaction; null when the transaction failed or has no commitment memo. */
function memoIn(found: FetchedTransaction, committer: Address): string | null {
  const key = committer.toBase58();
  if (found.outcome?.failed !== false || !found.signers.includes(key)) return null;
  // Any wallet can name the committer in a transaction, so only memo instructions that the committer signed are commitments.
  const signed = found.instructions.filter(({ program, accounts }) => program === MEMOS && accounts.includes(key));
  return memosOf(signed).find((memo) => memo.startsWith(MEMO_PREFIX)) ?? null;
}

/** Reads a commitment and the finalized block that contains it. Returns null while the RPC node lacks the transaction or the block. */
export async function readLanded(app: App, signature: string, committer: Address): Promise<LandedCommitment | null> {
  const found = await app.chain.node.transaction(signature, 'finalized');
  const memo = found && memoIn(found, committer);
  if (!found || memo === null) return null;
  const { slot } = found;
  const block = await app.chain.node.block(slot);
  if (!block) return null;
  return { memo, committer: committer.toBase58(), signature, slot, blockhash: block.blockhash, blockTime: instantOf(block.blockTime * 1_000) };
}

/** Signatures of finalized transactions that this process has read and that contain no commitment. */
const unrelated = perApp(() => new Set<string>());

/**
 * Reads the commitments on the chain, confirmed or finalized, oldest first.
 * @param since signature and slot of the newest commitment in the database; only later commitments are read. Null reads the whole history
 * @throws 503 while the RPC node does not return the complete history
 */
export async function commitmentsSince(app: App, since: { readonly signature: string; readonly slot: number } | null): Promise<CommitmentMemo[]> {
  const committer = app.chain.address('committer');
  const known = app.state(unrelated);
  const listed = (await listMentions(app, committer, since)).filter(({ signature }) => !known.has(signature));
  const found = new Map<string, CommitmentMemo>();
  const next = listed.values();
  const work = async () => {
    for (const { signature, slot, final } of next) {
      const transaction = await app.chain.node.transaction(signature, 'confirmed');
      if (!transaction) throw unavailable('the RPC node lists a transaction but does not return it', 2);
      const memo = memoIn(transaction, committer);
      if (memo !== null) found.set(signature, { memo, signature, slot, final });
      else if (final && known.size < MAX_REMEMBERED) known.add(signature);
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_READS }, work));
  return listed.flatMap(({ signature }) => found.get(signature) ?? []);
}

type Mention = Omit<CommitmentMemo, 'memo'>;

/**
 * Returns the transactions that name the committer and may contain a commitment, oldest first. Includes transactions that the RPC node lists without
 * a memo, because some RPC nodes omit memos in their lists.
 */
async function listMentions(app: App, committer: Address, since: { readonly signature: string; readonly slot: number } | null): Promise<Mention[]> {
  const mentions: Mention[] = [];
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const listed = await app.chain.node.history(committer, { limit: PAGE, before, until: since?.signature }, 'confirmed');
    // An RPC node that does not know the `until` signature returns older transactions too. This filter removes the older transactions.
    const recent = listed.filter(({ slot, signature }) => since === null || (slot >= since.slot && signature !== since.signature));
    for (const { signature, slot, failed, final, memo } of recent) {
      if (!failed && (memo === null || memo.includes(MEMO_PREFIX))) mentions.push({ signature, slot, final });
    }
    if (listed.length < PAGE || recent.length < listed.length) return mentions.reverse();
    before = listed.at(-1)?.signature;
  }
  throw unavailable(`the committer has more than ${MAX_PAGES * PAGE} transactions since its last recorded commitment; they cannot all be read`, 60);
}
