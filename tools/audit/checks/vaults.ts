import { CLAIMS_PER_PAGE, decodeEpoch, decodePage, type EpochAccount, pageAddress } from '#platform/solana/distributor/index.ts';
import { type Address, type FetchedAccount, parseAddress } from '#platform/solana/primitives.ts';
import { decodeTokenAccount } from '#platform/solana/tokens.ts';
import { Candidates } from '../candidates.ts';
import type { AuditContext, Check } from '../check.ts';

/** Maximum accounts per RPC request. Each epoch needs two accounts: the epoch account and the vault. */
const ACCOUNTS_PER_REQUEST = 100;

interface OpenEpoch {
  readonly epoch: number;
  readonly program: string;
  readonly address: string;
  readonly vault: string;
  readonly authority: string;
  readonly mint: string;
  readonly root: string;
  readonly total: string;
  readonly leaves: number;
  readonly claimed: string;
  readonly settling: boolean;
  /** End of the claim period, seconds since 1970. */
  readonly expiry: number;
}
const SELECT_OPEN = `
  select a.epoch, a.program, a.address, a.vault, a.authority, a.mint, encode(coalesce(a.other_root, e.root), 'hex') as root,
    coalesce(a.other_total, e.total)::text as total, coalesce(a.other_leaves, e.leaves) as leaves, a.claimed::text,
    e.settle_requested_at is not null or e.state = 'settled' as settling, extract(epoch from a.expires_at)::float8 as expiry
  from epoch_accounts a join epochs e using (epoch)
  where a.opened_at is not null and a.closed_at is null and ($1::int[] is null or a.epoch = any($1)) order by a.epoch desc`;
/** Maximum claims per SQL query. */
const CLAIMS_PER_QUERY = 20_000;
const SELECT_CLAIMED = `select index from claims where epoch = $1 and state = 'claimed' and index > $2 order by index limit ${CLAIMS_PER_QUERY}`;
const SELECT_MAX_INDEX = `select coalesce(max(index), 0) as max from claims where epoch = $1`;

/** Bitmap with one bit per leaf of an epoch, in the format of the chain: leaf 0 is the lowest bit of the first byte. */
type Leaves = Uint8Array;

const has = (leaves: Leaves, index: number) => (((leaves[index >>> 3] ?? 0) >> (index & 7)) & 1) === 1;

/** Returns the lowest index of a leaf whose bit is 1 in `some` and 0 in `others`; undefined when there is none. */
function firstMissing(some: Leaves, others: Leaves): number | undefined {
  const at = some.findIndex((byte, i) => (byte & ~(others[i] ?? 0)) !== 0);
  return at < 0 ? undefined : [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => 8 * at + bit).find((index) => has(some, index) && !has(others, index));
}

/** Reads the claimed leaves of an epoch from the database. */
async function claimedOf({ db }: AuditContext, epoch: number): Promise<Leaves> {
  const [row] = await db.query<{ max: number }>({ text: SELECT_MAX_INDEX }, [epoch]);
  const claimed = new Uint8Array(Math.ceil(((row?.max ?? 0) + 1) / 8));
  for (let last = -1; ; ) {
    const page = await db.query<{ index: number }>({ text: SELECT_CLAIMED }, [epoch, last]);
    for (const { index } of page) claimed[index >>> 3] = (claimed[index >>> 3] ?? 0) | (1 << (index & 7));
    last = page.at(-1)?.index ?? last;
    if (page.length < CLAIMS_PER_QUERY) return claimed;
  }
}

async function accountsOf({ chain }: AuditContext, keys: readonly Address[]) {
  const found: FetchedAccount[] = [];
  for (let i = 0; i < keys.length; i += ACCOUNTS_PER_REQUEST) {
    found.push(...(await chain.node.accounts(keys.slice(i, i + ACCOUNTS_PER_REQUEST), 'finalized')).accounts);
  }
  return found;
}

/**
 * State of an epoch on the chain at the first comparison. The database follows the chain with a delay. At each later comparison, the database must
 * contain at least the claims of this state.
 */
interface ChainSnapshot {
  readonly claimed: bigint;
  /** Bitmap of the claimed leaves; empty when the bitmap was not read. */
  readonly indexes: Leaves;
}

const NONE: Leaves = new Uint8Array(0);

/**
 * Compares the account of an epoch on the chain with the epoch's row in the database, which was read before the account. Returns the first difference
 * as a sentence, or null when both match.
 * @param held the balance of the vault, base units
 * @param before the state of the epoch on the chain at the first comparison; undefined during the first comparison
 */
function findFault(open: OpenEpoch, account: EpochAccount, held: bigint, before: ChainSnapshot | undefined): string | null {
  const pairs: readonly (readonly [string, unknown, unknown])[] = [
    ['root', account.root.toString('hex'), open.root],
    ['total', account.total, open.total],
    ['number of leaves', account.leaves, open.leaves],
    ['authority', account.authority, open.authority],
    ['mint', account.mint, open.mint],
    ['vault', account.vault, open.vault],
    ['expiry', account.expiry, open.expiry],
  ];
  const wrong = pairs.find(([, shown, due]) => String(shown) !== String(due));
  if (wrong) return `has ${wrong[0]} ${wrong[1]} on the chain, but ${wrong[2]} in the database`;
  const claimed = BigInt(open.claimed);
  if (claimed > account.claimed || claimed < (before ?? account).claimed)
    return `has claimed ${account.claimed} on the chain, but ${claimed} in the database`;
  if (account.state === 'closed' || (account.state === 'settled' && open.settling)) return null;
  if (account.state === 'settled') return 'is settled on the chain without a request';
  return held < account.total - account.claimed ? `holds ${held} in its vault, but ${account.total - account.claimed} are not claimed` : null;
}

/** Reads the claimed leaves of an epoch from the chain. */
async function bitsOf(audit: AuditContext, { program, address, leaves }: OpenEpoch): Promise<Leaves> {
  const [programId, account] = [parseAddress(program), parseAddress(address)];
  const numbers = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  const keys = numbers.map((page) => pageAddress(programId, account, page));
  const bits = new Uint8Array((numbers.length * CLAIMS_PER_PAGE) / 8);
  for (const [i, raw] of (await accountsOf(audit, keys)).entries()) bits.set(decodePage(programId, raw)?.bits ?? [], (i * CLAIMS_PER_PAGE) / 8);
  return bits;
}

/**
 * Compares epochs in the database with their accounts on the chain. Reads the database before the chain, so that only the chain can be ahead of the
 * database.
 */
class VaultComparison {
  readonly faults = new Map<number, string>();
  readonly #audit: AuditContext;
  readonly #before: Map<number, ChainSnapshot>;

  /**
   * @param before the states of the epochs on the chain at the first comparison, by epoch number; `run` adds the epochs that this map does not
   * contain
   */
  constructor(audit: AuditContext, before: Map<number, ChainSnapshot>) {
    this.#audit = audit;
    this.#before = before;
  }

  /**
   * Compares epochs and returns the faults as sentences, by epoch number.
   * @param epochs the numbers of the epochs to compare; null for all open epochs
   * @param isDeep a function that returns whether to compare the claims of an epoch one by one; its argument is 0 for the newest epoch, 1 for the
   * next older epoch, and so on
   */
  async run(epochs: readonly number[] | null, isDeep: (position: number) => boolean): Promise<Map<number, string>> {
    const open = await this.#audit.db.query<OpenEpoch>({ text: SELECT_OPEN }, [epochs]);
    const keys = open.flatMap(({ address, vault }) => [parseAddress(address), parseAddress(vault)]);
    const accounts = await accountsOf(this.#audit, keys);
    for (const [i, one] of open.entries()) {
      const account = decodeEpoch(parseAddress(one.program), accounts[2 * i] ?? null);
      const held = decodeTokenAccount(accounts[2 * i + 1] ?? null)?.amount ?? 0n;
      const fault = account === null ? 'has no account on the chain' : await this.#one(one, account, held, isDeep(i));
      if (fault !== null) this.faults.set(one.epoch, `epoch ${one.epoch} ${fault}`);
    }
    return this.faults;
  }

  async #one(open: OpenEpoch, account: EpochAccount, held: bigint, isDeep: boolean): Promise<string | null> {
    const before = this.#before.get(open.epoch);
    const known = isDeep ? await claimedOf(this.#audit, open.epoch) : NONE;
    const indexes = isDeep && account.state === 'open' ? await bitsOf(this.#audit, open) : known;
    // Stores only the state of the first comparison, because a later state may include new claims that the database does not have yet.
    if (before === undefined || (isDeep && before.indexes === NONE)) {
      this.#before.set(open.epoch, { claimed: before?.claimed ?? account.claimed, indexes: isDeep ? indexes : NONE });
    }
    const fault = findFault(open, account, held, before);
    if (fault !== null) return fault;
    if (!isDeep) return null;
    const index = firstMissing(known, indexes) ?? firstMissing(before?.indexes ?? indexes, known);
    if (index === undefined) return null;
    return `has leaf ${index} ${has(indexes, index) ? 'claimed' : 'not claimed'} on the chain, but not so in the database`;
  }
}

/** Compares open epochs with the chain. Differences are compared again, because the database follows the chain with a delay. */
export const vaults: Check = {
  name: 'vaults',
  invariant: 'an open epoch equals its account on the chain, its vault holds the unclaimed amount, and the claims equal those on the chain',
  live: true,
  async run(audit) {
    const { scope } = audit;
    const candidates = new Candidates<number>();
    const seen = new Map<number, ChainSnapshot>();
    for (const epoch of (await new VaultComparison(audit, seen).run(null, (position) => scope.all || position < scope.epochs)).keys())
      candidates.add(epoch);
    return await candidates.confirm(audit, (epochs) => new VaultComparison(audit, seen).run(epochs, () => true));
  },
};
