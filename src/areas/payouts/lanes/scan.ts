import { HttpError } from '#lib/errors.ts';
import type { App } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import type { FetchedTransaction } from '#platform/solana/fetched-transaction.ts';
import { parseAddress } from '#platform/solana/primitives.ts';
import type { HistoryEntry, RpcNode } from '#platform/solana/rpc-node.ts';
import { selectKnown } from './own-attempts.ts';
import type { Lane } from './rows.ts';
import { type LaneScan, saveScan, selectStored } from './scan-rows.ts';
import { nonceUseOf, opensLane, type UnknownTransaction } from './unknown-transaction.ts';
import { insertUnknownTransactions } from './unmatched-transactions.ts';

/** Signatures per page. RPC nodes return at most 1,000 per request. */
const PAGE = 1_000;
/** Maximum transactions that one part reads. */
const MAX_READ = 200;
const MAX_CONCURRENT_READS = 8;

/** The progress of a scan after one part. `stuck` is the reason why the RPC nodes did not return the next transactions; null when they did. */
export interface ScanPart {
  readonly scan: LaneScan;
  readonly stuck: string | null;
}

const nodesOf = ({ chain }: App): RpcNode[] => [chain.node, ...(chain.second === null ? [] : [chain.second])];

/**
 * Reads the next part of a lane's history: at most one page of signatures, and at most 200 transactions. Stores the transactions that used a nonce of
 * the lane, and the progress, in one database transaction. After a crash the same part is read again.
 * @param slot minimum slot that the RPC node must have reached
 */
export async function scanPart(app: App, lane: Lane, scan: LaneScan, slot: number): Promise<ScanPart> {
  const listed = await listPage(app, lane, scan, slot);
  if (listed.length === 0) return { scan, stuck: `no RPC node lists the transactions of the lane back to slot ${scan.floor}` };
  const recent = listed.filter((entry) => entry.slot > scan.floor);
  const { done, found, uses, isOpened } = await readEntries(app, lane, recent);
  const last = done.at(-1);
  const opening = isOpened ? last : undefined;
  const next: LaneScan = {
    ...scan,
    topSlot: scan.topSlot ?? listed[0]?.slot ?? null,
    before: last?.signature ?? scan.before,
    openedSlot: opening?.slot ?? scan.openedSlot,
    listed: scan.listed + done.length,
    read: scan.read + found,
    complete: isOpened || (done.length === recent.length && recent.length < listed.length),
  };
  await app.tx(async (tx) => {
    await insertUnknownTransactions(tx, lane, uses);
    await saveScan(tx, lane, scan, next);
  });
  const missing = done.length === 0 && !next.complete ? recent[0] : undefined;
  return { scan: next, stuck: missing ? `no RPC node returns the transaction ${missing.signature}, which is listed` : null };
}

/** Lists the next page of signatures, newest first. If the first RPC node lists none, asks the second. */
async function listPage(app: App, { address }: Lane, { before }: LaneScan, minContextSlot: number): Promise<HistoryEntry[]> {
  for (const node of nodesOf(app)) {
    const page = { limit: PAGE, before: before ?? undefined, minContextSlot };
    const listed = await node.history(parseAddress(address), page, 'finalized').catch((error: unknown): HistoryEntry[] => {
      if (error instanceof HttpError) throw error;
      // Some RPC nodes return an error for a signature that they do not have.
      app.log.warn({ err: error, address, before }, 'an RPC node cannot list the transactions before a signature; the next node is asked');
      return [];
    });
    if (listed.length > 0) return listed;
  }
  return [];
}

/** The transactions that were read. */
interface ReadEntries {
  /** The entries before the first one that was not read. */
  readonly done: readonly HistoryEntry[];
  /** Number of transactions that an RPC node returned. */
  readonly found: number;
  readonly uses: readonly UnknownTransaction[];
  /** Whether the last of the entries opened the account. */
  readonly isOpened: boolean;
}

/** Reads the transactions of the entries that are not in the database, until one opens the account or cannot be read. */
async function readEntries(app: App, lane: Lane, entries: readonly HistoryEntry[]): Promise<ReadEntries> {
  const signatures = entries.map(({ signature }) => signature);
  if (signatures.length === 0) return { done: [], found: 0, uses: [], isOpened: false };
  const rows = await Promise.all([run(app.db, selectKnown(signatures)), run(app.db, selectStored(signatures))]);
  const known = new Set(rows.flat().map(({ signature }) => signature));
  // The opening of the account ends the scan of a lane without a stored nonce. It may be an attempt of this service.
  const unread = lane.nonce === null ? entries : entries.filter(({ signature }) => !known.has(signature));
  const read = await readTransactions(app, unread.slice(0, MAX_READ));
  const done: HistoryEntry[] = [];
  const uses: UnknownTransaction[] = [];
  for (const entry of entries) {
    const transaction = read.get(entry.signature);
    const isKnown = known.has(entry.signature);
    if (!transaction && (!isKnown || lane.nonce === null)) break;
    done.push(entry);
    if (!transaction) continue;
    if (opensLane(lane, transaction)) return { done, found: read.size, uses, isOpened: true };
    const use = isKnown ? null : nonceUseOf(lane, entry.signature, transaction);
    if (use) uses.push(use);
  }
  return { done, found: read.size, uses, isOpened: false };
}

/** Reads transactions. Leaves out those that no RPC node returns. */
async function readTransactions(app: App, entries: readonly HistoryEntry[]): Promise<Map<string, FetchedTransaction>> {
  const read = new Map<string, FetchedTransaction>();
  const next = entries.values();
  const work = async () => {
    for (const { signature } of next) {
      for (const node of nodesOf(app)) {
        const found = await node.transaction(signature, 'finalized');
        if (!found) continue;
        read.set(signature, found);
        break;
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(MAX_CONCURRENT_READS, entries.length) }, work));
  return read;
}
