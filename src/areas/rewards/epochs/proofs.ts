import { coalesce } from '#lib/concurrency/coalesce.ts';
import { fail } from '#lib/errors.ts';
import { buildTree, rootOf } from '#lib/merkle.ts';
import { type App, perApp } from '#platform/app.ts';
import { run } from '#platform/db/query-builder.ts';
import { statement } from '#platform/db/sql.ts';
import { build } from '../query-builder.ts';
import { type EpochSource, type EpochState, mayChange } from './epochs.ts';
import type { AllocationKey } from './leaf-store.ts';
import { CHUNK_LEAVES, CHUNK_LEVELS, proofThrough } from './tree-chunks.ts';

/** A wallet's leaf of an epoch and the Merkle proof of this leaf. Neither changes after the root of the epoch is on the chain. */
export interface RewardProof {
  epoch: number;
  wallet: string;
  index: number;
  /** Amount of the leaf, base units as text. */
  amount: string;
  /** Sibling hashes from the leaf to the root, hex. */
  proof: string[];
  root: string;
}

interface ProofRow {
  state: EpochState;
  source: EpochSource;
  allocation: number;
  root: Buffer | null;
  index: number | null;
  amount: string | null;
  hashes: Buffer | null;
}
interface ProofRequest {
  epoch: number;
  wallet: string;
}

// Needs three index lookups per request: the row of the epoch, the wallet's leaf, and the leaf hashes of the subtree that contains this leaf.
const selectProofs = statement<ProofRow & { n: number }>(
  'select_proofs',
  `select a.n::int as n, e.state, e.source, e.allocation, e.root, l.index, l.amount::text as amount, t.hashes
   from unnest($1::int[], $2::text[]) with ordinality as a(epoch, wallet, n)
   cross join lateral (select epoch, state, source, allocation, root from epochs where epoch = a.epoch offset 0) e
   left join lateral (
     select index, amount from reward_leaves where epoch = e.epoch and allocation = e.allocation and wallet = a.wallet and amount > 0 offset 0) l on true
   left join lateral (
     select hashes from reward_trees
     where epoch = e.epoch and allocation = e.allocation and level = 0 and chunk = l.index / ${CHUNK_LEAVES} offset 0) t on true`,
);

/** Maximum proofs per query. Concurrent requests share one query, because separate queries would cost much more CPU time. */
const MAX_PER_QUERY = 2_000;
const proofReader = perApp((app) =>
  coalesce(
    async (requests: readonly ProofRequest[]) => {
      const rows = await app.db.query(selectProofs, [requests.map(({ epoch }) => epoch), requests.map(({ wallet }) => wallet)]);
      return new Map(
        rows.flatMap((row) => {
          const request = requests[row.n - 1];
          return request ? [[request, row] as const] : [];
        }),
      );
    },
    { maxPerRun: MAX_PER_QUERY },
  ),
);

/**
 * Maximum upper trees that one process caches. The upper tree of an allocation is the tree above its stored subtrees; for a million leaves it takes 2 MB.
 */
const MAX_CACHED_TREES = 16;
type UpperTree = readonly Uint8Array[];
const upperTrees = perApp(() => new Map<string, Promise<UpperTree>>());

/** Returns the upper part of an allocation's Merkle tree: the tree whose leaves are the subtree roots. Caches the 16 trees that were used last. */
function upperTreeOf(app: App, of: AllocationKey, root: Buffer): Promise<UpperTree> {
  const trees = app.state(upperTrees);
  const key = `${of.epoch}/${of.allocation}`;
  const tree = trees.get(key) ?? loadUpperTree(app, of, root);
  // Deleting and setting the entry moves it to the end of the map. So the map starts with the entries that were unused for the longest time.
  trees.delete(key);
  trees.set(key, tree);
  tree.catch(() => trees.delete(key));
  for (const oldest of trees.keys()) {
    if (trees.size <= MAX_CACHED_TREES) break;
    trees.delete(oldest);
  }
  return tree;
}

async function loadUpperTree(app: App, { epoch, allocation }: AllocationKey, root: Buffer): Promise<UpperTree> {
  const ofAllocation = build.selectFrom('reward_trees').select('hashes').where('epoch', '=', epoch).where('allocation', '=', allocation);
  const [roots] = await run(app.db, ofAllocation.where('level', '=', CHUNK_LEVELS).where('chunk', '=', 0));
  const tree = roots && buildTree(new Uint8Array(roots.hashes));
  if (!tree || !root.equals(rootOf(tree))) throw new Error(`the stored tree of epoch ${epoch} does not have the stored root of the epoch`);
  return tree;
}

const hex = (bytes: Uint8Array) => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('hex');

/**
 * Returns the Merkle proof of a wallet's leaf of an epoch, and whether another allocation can still replace the leaf.
 * @throws 404 when the epoch does not exist, is still being computed, or has no leaf of this wallet
 */
export async function readProof(app: App, epoch: number, wallet: string): Promise<{ proof: RewardProof; mayChange: boolean }> {
  const request = { epoch, wallet };
  const row = (await app.state(proofReader)('proofs', request)).get(request);
  if (!row) throw fail(404, `epoch ${epoch} does not exist`);
  if (row.state === 'computing') throw fail(404, `epoch ${epoch} is still being computed`);
  const { source, state, allocation, root, index, amount, hashes } = row;
  if (root === null || index === null || amount === null) throw fail(404, `epoch ${epoch} has no reward for this wallet`);
  if (hashes === null) throw new Error(`the stored tree of epoch ${epoch} has no subtree for leaf ${index}`);
  const upperTree = await upperTreeOf(app, { epoch, allocation }, root);
  const proof = proofThrough(new Uint8Array(hashes), upperTree, index).map(hex);
  return { proof: { epoch, wallet, index, amount, proof, root: hex(root) }, mayChange: mayChange({ source, status: state }) };
}
