import { sql } from 'kysely';
import type { App } from '#platform/app.ts';
import { ChainAttemptsTable } from '#platform/db/entities.ts';
import { queryBuilder, run } from '#platform/db/query-builder.ts';
import { advancesNonce, type FetchedTransaction } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import { MEMO_PROGRAM, TOKEN_PROGRAM } from '#platform/solana/tokens.ts';
import { COMPUTE_BUDGET_PROGRAM } from '#platform/solana/transactions.ts';
import { readPayoutMemo } from '../batches/members.ts';
import { PayoutFindingsTable, type Transfer } from '../entities.ts';
import type { Lane } from './rows.ts';

/** Signatures per page. RPC nodes return at most 1,000 per request. */
const PAGE = 1_000;
const MAX_PAGES = 20;
/** Maximum transactions missing in the database that one reconciliation reads per lane. */
const MAX_READ = 100;
const MAX_CONCURRENT_READS = 8;

const TOKENS = TOKEN_PROGRAM.toBase58();
const MEMOS = MEMO_PROGRAM.toBase58();
const COMPUTE_BUDGET = COMPUTE_BUDGET_PROGRAM.toBase58();

/** Number of the instruction TransferChecked in the token program. */
const TRANSFER_CHECKED = 12;

/**
 * A finalized transaction that names the nonce account of a lane but is not among the attempts in the database. The service reads the transaction
 * from the RPC node once and then stores it.
 */
export interface UnknownTransaction {
  readonly signature: string;
  readonly slot: number;
  /** The nonce that the transaction used; null when it used no nonce of the lane. */
  readonly nonce: string | null;
  /** Batch id and members hash from the transaction's memo; null when it has no batch memo. */
  readonly memo: { readonly batch: string; readonly hash: string } | null;
  readonly transfers: readonly Transfer[];
  /** Reason why the transaction need not be matched with payments; null when it must be matched. */
  readonly harmless: string | null;
}

/** A transaction that used a nonce of a lane: either an attempt in the database, or an unknown transaction. */
interface NonceUse {
  readonly signature: string;
  readonly slot: number;
  readonly nonce: string;
  readonly by: 'attempt' | 'unknown';
  /**
   * Whether the database has the result of the transaction. For an attempt: its state is `finalized` or `failed`. For an unknown transaction: it has
   * a verdict other than `unmatched`.
   */
  readonly settled: boolean;
}

/** The transactions that name the nonce account of a lane and are newer than `lane.landed`, the newest transaction of the lane in the database. */
export interface LaneHistory {
  /** Uses of nonces, oldest first. */
  readonly uses: readonly NonceUse[];
  /** Unknown transactions that are not in the database yet. */
  readonly fresh: readonly UnknownTransaction[];
  /**
   * Whether all transactions of the history were read. If false, the caller stores `fresh`, and the next reconciliation reads the other transactions.
   */
  readonly complete: boolean;
}

const build = queryBuilder([ChainAttemptsTable, PayoutFindingsTable]);
const anyOf = (signatures: readonly string[]) => sql<string>`any(${signatures}::text[])`;
// Excludes attempts in the state `dead`. A dead attempt that landed nevertheless counts as an unknown transaction.
const selectAttempts = (signatures: readonly string[], account: string) =>
  build
    .selectFrom('chain_attempts')
    .select(['signature', 'state', sql<string | null>`case when nonce_account = ${account} then nonce end`.as('nonce')])
    .where('signature', '=', anyOf(signatures))
    .where('state', '<>', 'dead');
const selectUnknownTransactions = (signatures: readonly string[]) =>
  build.selectFrom('payout_findings').select(['signature', 'nonce', 'verdict']).where('signature', '=', anyOf(signatures));

/** Extracts the nonce, the memo and the transfers from a transaction, and decides whether the transaction must be matched with payments. */
function classifyTransaction(address: string, signature: string, found: FetchedTransaction): UnknownTransaction {
  const { instructions, outcome } = found;
  const [first] = instructions;
  const advances = first !== undefined && advancesNonce(first, address);
  const transfers = instructions.flatMap(({ program, accounts, data }): Transfer[] => {
    const [, mint, to] = accounts;
    const isTransfer = program === TOKENS && data[0] === TRANSFER_CHECKED && data.length === 10;
    return isTransfer && mint && to ? [{ to, mint, amount: String(data.readBigUInt64LE(1)) }] : [];
  });
  const memos = instructions.flatMap(({ program, data }) => (program === MEMOS ? [readPayoutMemo(data.toString('utf8'))] : []));
  const memo = memos.find((one) => one !== null) ?? null;
  const nonce = advances ? found.blockhash : null;
  const movesNothing = instructions.every(({ program }, i) => (advances && i === 0) || program === MEMOS || program === COMPUTE_BUDGET);
  const failed = outcome?.failed ? 'the transaction landed with an error' : null;
  const harmless = nonce === null ? 'the transaction uses no nonce' : (failed ?? (movesNothing ? 'the transaction only advances the nonce' : null));
  return { signature, slot: found.slot, nonce, memo, transfers, harmless };
}

/**
 * Reads the finalized transactions that name a lane's nonce account and are newer than `lane.landed`, the newest transaction of the lane in the
 * database. Any wallet can name the nonce account, but only the fee payer can use its nonce.
 * @param slot minimum slot that the RPC node must have reached
 */
export async function readLaneHistory(app: App, lane: Lane, slot: number): Promise<LaneHistory> {
  const listed = await listSignatures(app, lane, slot);
  if (listed === null) return { uses: [], fresh: [], complete: false };
  const signatures = listed.map(({ signature }) => signature);
  const [attempts, stored] = await Promise.all([
    run(app.db, selectAttempts(signatures, lane.address)),
    run(app.db, selectUnknownTransactions(signatures)),
  ]);
  const known = new Map<string, Pick<NonceUse, 'by' | 'settled'> & { nonce: string | null }>();
  for (const { signature, nonce, verdict } of stored) known.set(signature, { nonce, by: 'unknown', settled: verdict !== 'unmatched' });
  for (const { signature, nonce, state } of attempts) {
    known.set(signature, { nonce, by: 'attempt', settled: state === 'finalized' || state === 'failed' });
  }
  const unknown = listed.filter(({ signature }) => !known.has(signature));
  const fresh = await readTransactions(app, lane.address, unknown.slice(0, MAX_READ));
  for (const { signature, nonce, harmless } of fresh) known.set(signature, { nonce, by: 'unknown', settled: harmless !== null });
  const uses = listed.flatMap(({ signature, slot: at }): NonceUse[] => {
    const { nonce, by, settled } = known.get(signature) ?? { nonce: null, by: 'unknown', settled: false };
    return nonce === null ? [] : [{ signature, slot: at, nonce, by, settled }];
  });
  // The list contains at least the transaction that created the nonce account. If the list is empty and the lane has no stored nonce yet, the RPC
  // node lags behind.
  const isPlausible = listed.length > 0 || lane.nonce !== null;
  return { uses, fresh, complete: isPlausible && fresh.length === unknown.length };
}

interface ListedSignature {
  readonly signature: string;
  readonly slot: number;
}

/**
 * Lists the signatures of the transactions that name a lane's nonce account and are newer than `lane.landed`, the newest transaction of the lane in
 * the database. The oldest comes first. Returns null when there are more than 20 pages of signatures.
 */
async function listSignatures(app: App, lane: Lane, minContextSlot: number): Promise<ListedSignature[] | null> {
  const found: ListedSignature[] = [];
  const address = parseAddress(lane.address);
  let before: string | undefined;
  for (let page = 0; page < MAX_PAGES; page++) {
    const rows = await app.chain.node.history(address, { limit: PAGE, before, until: lane.landed ?? undefined, minContextSlot }, 'finalized');
    // A lane's nonce can be used at most once per slot. So only transactions in slots after `landedSlot`, the slot of `lane.landed`, can have used a
    // later nonce.
    const recent = rows.filter((row) => row.slot > lane.landedSlot);
    found.push(...recent.map(({ signature, slot }) => ({ signature, slot })));
    if (rows.length < PAGE || recent.length < rows.length) return found.reverse();
    before = rows.at(-1)?.signature;
  }
  return null;
}

/** Reads transactions and classifies them. Leaves out transactions that the RPC node does not have. */
async function readTransactions(app: App, address: string, unknown: readonly ListedSignature[]): Promise<UnknownTransaction[]> {
  const transactions: UnknownTransaction[] = [];
  const next = unknown.values();
  await Promise.all(
    Array.from({ length: Math.min(MAX_CONCURRENT_READS, unknown.length) }, async () => {
      for (const { signature } of next) {
        const found = await app.chain.node.transaction(signature, 'finalized');
        if (found) transactions.push(classifyTransaction(address, signature, found));
      }
    }),
  );
  return transactions;
}
