import { coalesce } from '#lib/coalesce.ts';
import { fail } from '#lib/errors.ts';
import { buildTree, rootOf } from '#lib/merkle.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { CHUNK_LEAVES, CHUNK_LEVELS, proofThrough } from './tree-chunks.ts';

/** A wallet's leaf of an epoch, with what proves it. Nothing of it ever changes. */
export interface RewardProof {
  epoch: number;
  wallet: string;
  index: number;
  /** Base units as text. */
  amount: string;
  /** The siblings from the leaf up, hex. */
  proof: string[];
  root: string;
}

interface ProofRow {
  state: string;
  root: Buffer | null;
  index: number | null;
  amount: string | null;
  hashes: Buffer | null;
}
interface Ask {
  epoch: number;
  wallet: string;
}

// Three looks into an index per ask: the epoch, the wallet's leaf, the hashes of its subtree.
const selectProofs = statement<ProofRow & { n: number }>(
  'select_proofs',
  `select a.n::int as n, e.state, e.root, l.index, l.amount::text as amount, t.hashes
   from unnest($1::int[], $2::text[]) with ordinality as a(epoch, wallet, n)
   cross join lateral (select epoch, state, root from epochs where epoch = a.epoch offset 0) e
   left join lateral (select index, amount from reward_leaves where epoch = e.epoch and wallet = a.wallet and amount > 0 offset 0) l on true
   left join lateral (select hashes from reward_trees where epoch = e.epoch and level = 0 and chunk = l.index / ${CHUNK_LEAVES} offset 0) t on true`,
);

/** Proofs that one question to the database asks for. A rush of them is answered at a fraction of the cost. */
const MOST_ASKED = 2_000;
const readers = new WeakMap<App, (key: string, ask: Ask) => Promise<ReadonlyMap<Ask, ProofRow>>>();

async function readRow(app: App, ask: Ask): Promise<ProofRow | undefined> {
  let read = readers.get(app);
  if (!read) {
    read = coalesce(async (asks: readonly Ask[]) => {
      const rows = await app.db.query(selectProofs, [asks.map(({ epoch }) => epoch), asks.map(({ wallet }) => wallet)]);
      return new Map(
        rows.flatMap((row) => {
          const asked = asks[row.n - 1];
          return asked ? [[asked, row] as const] : [];
        }),
      );
    }, MOST_ASKED);
    readers.set(app, read);
  }
  return (await read('proofs', ask)).get(ask);
}

const selectRoots = statement<{ hashes: Buffer }>(
  'select_subtree_roots',
  `select hashes from reward_trees where epoch = $1 and level = ${CHUNK_LEVELS} and chunk = 0`,
);

/** Trees of subtree roots that a process keeps: two megabytes each for a million leaves. */
const MOST_KEPT = 16;
type Top = readonly Uint8Array[];
const kept = new WeakMap<App, Map<number, Promise<Top>>>();

/** The upper part of an epoch's tree; those asked for last are kept. */
function topOf(app: App, epoch: number, root: Buffer): Promise<Top> {
  const tops = kept.get(app) ?? new Map<number, Promise<Top>>();
  kept.set(app, tops);
  const known = tops.get(epoch) ?? load(app, epoch, root);
  tops.delete(epoch);
  tops.set(epoch, known);
  known.catch(() => tops.delete(epoch));
  for (const oldest of tops.keys()) {
    if (tops.size <= MOST_KEPT) break;
    tops.delete(oldest);
  }
  return known;
}

async function load(app: App, epoch: number, root: Buffer): Promise<Top> {
  const roots = (await app.db.query(selectRoots, [epoch]))[0]?.hashes;
  const top = roots && buildTree(new Uint8Array(roots));
  if (!top || !root.equals(rootOf(top))) throw new Error(`the stored tree of epoch ${epoch} does not lead to its root`);
  return top;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');

/**
 * The proof of a wallet's leaf.
 * @throws 404 no such epoch, one that is still being computed, or no leaf of this wallet in it
 */
export async function readProof(app: App, epoch: number, wallet: string): Promise<RewardProof> {
  const row = await readRow(app, { epoch, wallet });
  if (!row) throw fail(404, `there is no epoch ${epoch}`);
  if (row.state === 'computing') throw fail(404, `epoch ${epoch} is still being computed`);
  const { root, index, amount, hashes } = row;
  if (root === null || index === null || amount === null) throw fail(404, `epoch ${epoch} has no reward for this wallet`);
  if (hashes === null) throw new Error(`the tree of epoch ${epoch} has no subtree for leaf ${index}`);
  const top = await topOf(app, epoch, root);
  return { epoch, wallet, index, amount, proof: proofThrough(new Uint8Array(hashes), top, index).map(hex), root: hex(root) };
}
