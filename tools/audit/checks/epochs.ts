import bs58 from 'bs58';
import { buildTree, HASH_BYTES, hashLeaves, rootOf, WALLET_BYTES } from '#lib/merkle.ts';
import { type AuditContext, type Check, DifferenceList, databaseCheck, differences, type Scope } from '../check.ts';

/**
 * Returns a query for the newest epochs, which the audit recomputes.
 * @param columns the columns that the query selects
 */
const newest = ({ epochs, all }: Scope, columns = 'epoch') =>
  `select ${columns} from epochs where computed_at is not null order by epoch desc limit ${all ? 'all' : Math.trunc(epochs)}`;

/**
 * Level of a Merkle tree at which one node covers a chunk of 32 leaves. The database stores only levels 0 and 5 of a tree. Level 0 is stored in
 * chunks of 32 leaf hashes. Level 5 is stored as one chunk with one hash per chunk of level 0.
 */
const CHUNK_LEVEL = 5;
const CHUNK_LEAVES = 2 ** CHUNK_LEVEL;
const CHUNK_BYTES = CHUNK_LEAVES * HASH_BYTES;
/** Leaves per query; a multiple of the leaves per chunk. */
const PAGE = 128 * CHUNK_LEAVES;

/** Returns a query for the allocations of the newest epochs: those in force, and those that a later allocation replaced. */
const allocations = (scope: Scope) => `
  select epoch, allocation, source, wallets, leaves, points, total, root from (${newest(scope, '*')}) e
  union all select a.epoch, a.allocation, e.source, a.wallets, a.leaves, a.points, a.total, a.root
    from reward_allocations a join (${newest(scope, 'epoch, source')}) e using (epoch)`;

interface Stored {
  readonly epoch: number;
  readonly allocation: number;
  readonly leaves: number;
  readonly root: string | null;
}

// Returns the wallets and the amounts as two texts, because a result with one row per leaf takes ten times as long.
const SELECT_LEAVES = `
  select string_agg(wallet, ',' order by index) as wallets, string_agg(amount::text, ',' order by index) as amounts
  from reward_leaves where epoch = $1 and allocation = $2 and index >= $3 and index < $4`;
const SELECT_HASHES = `
  select string_agg(hashes, ''::bytea order by chunk) as hashes from reward_trees
  where epoch = $1 and allocation = $2 and level = $3 and chunk >= $4 and chunk < $5`;

/**
 * Computes the hashes of the leaves with indexes from `from` to `to`, exclusive. Returns null when a leaf is missing or its wallet is not an address.
 */
async function leavesOf({ db }: AuditContext, { epoch, allocation }: Stored, from: number, to: number): Promise<Uint8Array | null> {
  const [page] = await db.query<{ wallets: string | null; amounts: string | null }>({ text: SELECT_LEAVES }, [epoch, allocation, from, to]);
  const keys = (page?.wallets ?? '').split(',').map((wallet) => bs58.decodeUnsafe(wallet));
  if (keys.length !== to - from || keys.some((key) => key?.length !== WALLET_BYTES)) return null;
  const amounts = BigUint64Array.from((page?.amounts ?? '').split(','), BigInt);
  const hashes = new Uint8Array((to - from) * HASH_BYTES);
  hashLeaves(epoch, from, Buffer.concat(keys.flatMap((key) => key ?? [])), amounts, hashes);
  return hashes;
}

async function storedHashes({ db }: AuditContext, { epoch, allocation }: Stored, level: number, from: number, to: number): Promise<Uint8Array> {
  const [row] = await db.query<{ hashes: Buffer | null }>({ text: SELECT_HASHES }, [epoch, allocation, level, from, to]);
  return row?.hashes ?? Buffer.alloc(0);
}

/**
 * Compares the computed hashes of a page of leaves with the stored hashes. Returns the index of the first chunk that differs, counted from the start
 * of the page; null when no chunk differs.
 */
function firstDifferentChunk(hashes: Uint8Array, stored: Uint8Array): number | null {
  if (Buffer.compare(hashes, stored) === 0) return null;
  let at = 0;
  while (Buffer.compare(hashes.subarray(at, at + CHUNK_BYTES), stored.subarray(at, at + CHUNK_BYTES)) === 0) at += CHUNK_BYTES;
  return at / CHUNK_BYTES;
}

/**
 * Compares the root and the stored tree of an allocation with the tree that its leaves give. Returns the fault as a sentence, or null. Keeps only one page
 * of leaves and the roots of all chunks in memory.
 */
async function findFault(audit: AuditContext, stored: Stored): Promise<string | null> {
  const { leaves, root } = stored;
  const name = `epoch ${stored.epoch}, allocation ${stored.allocation}`;
  if (leaves === 0) return null;
  const roots = new Uint8Array(Math.ceil(leaves / CHUNK_LEAVES) * HASH_BYTES);
  let different: number | null = null;
  for (let from = 0; from < leaves; from += PAGE) {
    const hashes = await leavesOf(audit, stored, from, Math.min(from + PAGE, leaves));
    if (!hashes) return `${name}: it does not have ${leaves} leaves, or a leaf has an invalid address`;
    const levels = buildTree(hashes);
    const chunk = from / CHUNK_LEAVES;
    roots.set(levels[CHUNK_LEVEL] ?? rootOf(levels), chunk * HASH_BYTES);
    const within = firstDifferentChunk(hashes, await storedHashes(audit, stored, 0, chunk, chunk + PAGE / CHUNK_LEAVES));
    if (within !== null) different ??= chunk + within;
  }
  const found = Buffer.from(rootOf(buildTree(roots))).toString('hex');
  if (found !== root) return `${name}: its leaves have the root ${found}, but the stored root is ${root}`;
  if (Buffer.compare(await storedHashes(audit, stored, CHUNK_LEVEL, 0, 1), roots) !== 0)
    return `${name}: level ${CHUNK_LEVEL} of the stored tree does not match its leaves`;
  return different === null ? null : `${name}: chunk ${different} of the stored tree does not match its leaves`;
}

const epochRoots: Check = {
  name: 'epoch-roots',
  invariant: 'the root of each allocation of an epoch and the stored tree for proofs match its stored leaves',
  live: true,
  async run(audit) {
    const found = new DifferenceList();
    const text = `select epoch, allocation, leaves, encode(root, 'hex') as root from (${allocations(audit.scope)}) a order by 1, 2`;
    for (const stored of await audit.db.query<Stored>({ text })) {
      const fault = await findFault(audit, stored);
      if (fault !== null) found.add(fault);
    }
    return found;
  },
};

/**
 * Checks of the leaves and roots of epochs. They compare only the newest epochs, because leaves never change and earlier audits compared the older
 * epochs.
 */
export const epochChecks = [
  {
    name: 'epoch-leaves',
    invariant: 'the leaves of each allocation of an epoch sum to its total and its points, and are numbered without gaps, paid leaves first',
    live: true,
    run: ({ db, scope }: AuditContext) =>
      differences(
        db,
        `with summed as (
           select epoch, allocation, count(*) as wallets, count(*) filter (where amount > 0) as leaves, sum(amount) as total, sum(points) as points,
             coalesce(max(index) + 1, 0) as next, coalesce(max(index) filter (where amount > 0) + 1, 0) as paid
           from reward_leaves where epoch in (${newest(scope)}) group by 1, 2)
         select format('epoch %s, allocation %s: its leaves give %s wallets, %s paid leaves numbered up to %s of %s, total %s for %s points, but it has %s wallets, %s leaves, total %s for %s points', e.epoch, e.allocation,
           coalesce(s.wallets, 0), coalesce(s.leaves, 0), s.paid, s.next, coalesce(s.total, 0), s.points, e.wallets, e.leaves, e.total, e.points) as what
         from (${allocations(scope)}) e left join summed s using (epoch, allocation)
         where (coalesce(s.wallets, 0), coalesce(s.leaves, 0), coalesce(s.total, 0), coalesce(s.next, 0), coalesce(s.paid, 0))
             is distinct from (e.wallets, e.leaves, e.total, e.wallets, e.leaves)
           or (e.source = 'computed' and coalesce(s.points, 0) is distinct from e.points)`,
      ),
  } satisfies Check,
  {
    name: 'epoch-points',
    invariant: 'the points of each allocation of an epoch equal the ledger of its day without the excluded wallets',
    live: true,
    async run({ db, scope }: AuditContext) {
      // Reads the first day as a literal, so that PostgreSQL finds the rows of these days by the index of each partition.
      const [first] = await db.query<{ day: number | null }>({
        text: `select min(epoch) as day from (${allocations(scope)}) e where source = 'computed'`,
      });
      return await differences(
        db,
        `with chosen as materialized (
           select epoch, allocation from (${allocations(scope)}) e
           where source = 'computed' and not exists (
             select from closed_sums s join closed_partitions k using (relation, month) where relation = 'ledger' and s.day = e.epoch and k.detached_at is not null)),
         given as (
           select day as epoch, wallet, sum(points) as points from ledger
           where day >= ${first?.day ?? 0} and day in (select epoch from chosen) and mode = 'regular' and rewards and kind <> 'conversion' group by 1, 2 having sum(points) > 0),
         counted as (
           select epoch, allocation, wallet, g.points from chosen c join given g using (epoch)
           where not exists (
             select from reward_exclusions x where (x.epoch, x.wallet) = (c.epoch, g.wallet) and x.from_allocation <= c.allocation
               and (x.to_allocation is null or x.to_allocation > c.allocation)))
         select format('epoch %s, allocation %s: %s has %s counted points in the ledger and %s in the allocation', epoch, allocation, wallet, g.points, l.points) as what
         from counted g full join (select l.* from reward_leaves l join chosen using (epoch, allocation)) l using (epoch, allocation, wallet)
         where g.points is distinct from l.points`,
      );
    },
  } satisfies Check,
  epochRoots,
  databaseCheck(
    'epoch-allocations',
    'an epoch has every allocation up to the one in force, its exclusions begin and end with one of these or the next one, and its root is signed only after its review and with all exclusions',
    `select format('epoch %s is at allocation %s, but %s earlier ones are stored', epoch, e.allocation, count(a.epoch)) as what
     from epochs e left join reward_allocations a using (epoch) group by epoch having count(a.epoch) <> e.allocation - 1 or max(a.allocation) >= e.allocation
     union all select format('epoch %s: the exclusion of %s begins with allocation %s and ends with %s, but the allocation in force is %s', x.epoch, x.wallet, x.from_allocation, x.to_allocation, e.allocation)
     from reward_exclusions x left join epochs e using (epoch)
     where e.epoch is null or greatest(x.from_allocation, x.to_allocation) > e.allocation + (e.exclusions_changed_at is not null)::int
     union all select format('epoch %s is %s, but its exclusions changed at %s', epoch, state, exclusions_changed_at) from epochs
     where exclusions_changed_at is not null and state not in ('computed', 'empty', 'settled')
     union all select format('the root of epoch %s was signed at %s, before the end of its review at %s', e.epoch, a.signed_at, e.review_ends_at)
     from epochs e join chain_transactions t on t.kind = 'epoch-root' and t.subject = e.epoch::text join chain_attempts a on a.transaction_id = t.id
     where a.signed_at < e.review_ends_at`,
  ),
  databaseCheck(
    'epoch-rules',
    'the rules version of an epoch exists',
    `select format('epoch %s has rules version %s, which does not exist', epoch, rules_version) as what from epochs e
     where rules_version > 0 and not exists (select from settings s where s.name = 'rewards' and s.version = e.rules_version)`,
  ),
];
