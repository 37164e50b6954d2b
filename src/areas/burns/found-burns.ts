import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { parseBurns } from '#platform/solana/burn-instructions.ts';
import type { RpcNode } from '#platform/solana/rpc-node.ts';
import { askSecond, isContradicted, keepAgreedSignatures } from '#platform/solana/submission/index.ts';
import { creditBurns } from './credit.ts';
import type { FinalizedTransaction } from './finalized-transaction.ts';
import type { BurnSource } from './schemas.ts';

/** Maximum transactions per batch, maximum batches per run, and maximum concurrent requests to the RPC nodes. */
const MAX_BATCH_SIZE = 50;
const MAX_BATCHES = 10;
const MAX_CONCURRENT_READS = 8;

/** Type of the transactions with burns, as a contradiction of the RPC nodes names it. */
const BURN_TYPE = 'burn';

/** A transaction that an RPC node returned. */
interface FetchedTransaction extends FinalizedTransaction {
  /** Slot of the transaction's block. */
  readonly landedSlot: number;
  /** The RPC node that returned the transaction. */
  readonly from: 'first' | 'second';
}

/** A transaction that this run has leased, so that other runs skip it. */
interface LeasedTransaction {
  readonly signature: string;
  readonly slot: number;
  /** Whether the transaction was found at least a day ago. */
  readonly isOverdue: boolean;
}
// Leases transactions for 2 s; the lease doubles with each attempt, up to 64 s. If a run is killed or cannot read a transaction, a later run leases
// the transaction again.
const leaseTransactions = statement<LeasedTransaction>(
  'lease_burn_transactions',
  `update burn_transactions set tries = tries + 1, next_at = app_now() + interval '2 seconds' * power(2, least(tries, 5))
   where signature = any(array(
     select signature from burn_transactions where mint = $1 and read_at is null and next_at <= (select app_now())
     order by likely desc, slot limit ${MAX_BATCH_SIZE} for update skip locked))
   returning signature, slot::float8 as slot, found_at <= (select app_now()) - interval '1 day' as "isOverdue"`,
);

const MEMO = /^burn:([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}):(referral|game|social)$/;

/**
 * Parses the memos of a transaction.
 * @returns the event and the source if exactly one memo begins with `burn:` and this memo is valid; otherwise the fault
 */
function parseBurnMemo(memos: readonly string[]): FinalizedTransaction['memo'] {
  const burnMemos = memos.filter((memo) => memo.startsWith('burn:'));
  const [first] = burnMemos;
  if (first === undefined) return 'no-memo';
  if (burnMemos.length > 1) return 'several-memos';
  const [, event, source] = MEMO.exec(first) ?? [];
  return event && source ? { event, source: source as BurnSource } : 'invalid-memo';
}

/**
 * Reads a transaction from the first RPC node or, if that node does not have it, from the second.
 * @returns null when neither node has the transaction
 */
async function fetchBurns(app: App, mint: string, signature: string, slot: number): Promise<FetchedTransaction | null> {
  const { node, second } = app.chain;
  const read = (from: RpcNode) => from.transaction(signature, 'finalized');
  const first = await read(node);
  const found = first ?? (second && (await read(second)));
  const parsed = found && parseBurns(found, mint);
  if (!parsed) return null;
  const { at, memos, burns, delegatedBurns } = parsed;
  return { signature, slot, at, memo: parseBurnMemo(memos), burns, delegatedBurns, landedSlot: found.slot, from: first ? 'first' : 'second' };
}

/**
 * Keeps the transactions without burns, and those with burns that both RPC nodes state, because a burn that only one node has may be on another fork. A
 * later run asks again about the others. One node alone is enough where the history of the other node begins after the transaction.
 */
async function keepAgreed(app: App, read: readonly FetchedTransaction[]): Promise<FetchedTransaction[]> {
  const asked = read.filter(({ burns, from }) => burns.length > 0 && from === 'first');
  const agreed = await keepAgreedSignatures(
    app,
    asked.map(({ signature, landedSlot }) => ({ type: BURN_TYPE, signature, slot: landedSlot, isFailed: false })),
  );
  const isUnclear = asked.some(({ signature }) => !agreed.has(signature));
  const secondBlock = isUnclear ? ((await askSecond(app, (second) => second.firstBlock())) ?? 0) : 0;
  const isFromSecond = read.some(({ burns, from }) => burns.length > 0 && from === 'second');
  const firstBlock = isFromSecond ? await app.chain.node.firstBlock() : 0;
  const isFinal = ({ signature, landedSlot, from }: FetchedTransaction) =>
    from === 'first' ? agreed.has(signature) || secondBlock > landedSlot : firstBlock > landedSlot;
  return read.filter((one) => one.burns.length === 0 || isFinal(one));
}

/**
 * Reads transactions concurrently. If no RPC node has a transaction, a later run retries the read; after a day, the transaction is treated as one
 * without burns.
 */
async function fetchAll(app: App, mint: string, leased: readonly LeasedTransaction[]): Promise<{ read: FetchedTransaction[]; failures: unknown[] }> {
  const read: FetchedTransaction[] = [];
  const failures: unknown[] = [];
  const next = leased.values();
  const readNext = async () => {
    for (const { signature, slot, isOverdue } of next) {
      const found = await fetchBurns(app, mint, signature, slot);
      if (found) read.push(found);
      else if (isOverdue) {
        app.log.error({ signature }, 'a transaction that may contain a burn could not be read for a day; it is skipped');
        read.push({ signature, slot, at: 0, memo: 'no-memo', burns: [], delegatedBurns: [], landedSlot: slot, from: 'first' });
      }
      if (failures.length > 0) return;
    }
  };
  await Promise.all(Array.from({ length: MAX_CONCURRENT_READS }, () => readNext().catch((error: unknown) => failures.push(error))));
  return { read: await keepAgreed(app, read), failures };
}

/**
 * Reads the transactions that may contain burns, and credits the burns. Reads transactions whose memo matches an event before other transactions, and
 * older ones before newer ones. Does nothing while the RPC nodes contradict each other about a burn.
 * @throws the first error of a request, after the burns of the transactions that could be read are credited
 */
export async function readFoundBurns(app: App, mint: string): Promise<void> {
  if (await isContradicted(app.db, BURN_TYPE)) return;
  for (let batch = 0; batch < MAX_BATCHES; batch++) {
    const leased = await app.tx((tx) => tx.query(leaseTransactions, [mint]));
    const { read, failures } = await fetchAll(app, mint, leased);
    await creditBurns(app, mint, read);
    if (failures.length > 0) throw failures[0];
    if (leased.length < MAX_BATCH_SIZE) return;
  }
}

// Leases transactions like `lease_burn_transactions`.
const leaseCandidates = statement<LeasedTransaction>(
  'lease_burn_refusal_candidates',
  `update burn_refusal_candidates set tries = tries + 1, next_at = app_now() + interval '2 seconds' * power(2, least(tries, 5))
   where signature = any(array(
     select signature from burn_refusal_candidates where mint = $1 and read_at is null and next_at <= (select app_now())
     order by slot limit ${MAX_BATCH_SIZE} for update skip locked))
   returning signature, slot::float8 as slot, found_at <= (select app_now()) - interval '1 day' as "isOverdue"`,
);
const markCandidatesRead = statement(
  'mark_burn_refusal_candidates',
  'update burn_refusal_candidates set read_at = app_now() where signature = any($1::text[]) and read_at is null',
);

/**
 * Reads one batch of the transactions whose memo names no open event, and stores their burns as refused. One batch per run limits the requests to the
 * RPC node that transactions of strangers cause.
 * @throws the first error of a request, after the burns of the transactions that could be read are stored
 */
export async function readRefusalCandidates(app: App, mint: string): Promise<void> {
  const leased = await app.tx((tx) => tx.query(leaseCandidates, [mint]));
  if (leased.length === 0) return;
  const { read, failures } = await fetchAll(app, mint, leased);
  await creditBurns(app, mint, read);
  if (read.length > 0) await app.tx((tx) => tx.query(markCandidatesRead, [read.map(({ signature }) => signature).sort()]));
  if (failures.length > 0) throw failures[0];
}
