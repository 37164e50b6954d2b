import { PublicKey } from '@solana/web3.js';
import { CLAIMS_PER_PAGE, decodeEpoch, decodePage, type EpochAccount, pageAddress } from '#platform/solana/distributor/index.ts';
import { rpc } from '#platform/solana/solana.ts';
import { decodeTokenAccount } from '#platform/solana/tokens.ts';
import type { Audit, Check } from '../check.ts';
import { Suspects } from '../suspects.ts';

/** Accounts that nodes answer at once; an epoch takes two. */
const AT_ONCE = 100;

interface Open {
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
  /** Seconds since 1970. */
  readonly expiry: number;
}
const SELECT_OPEN = `
  select a.epoch, a.program, a.address, a.vault, a.authority, a.mint, encode(e.root, 'hex') as root, e.total::text, e.leaves, a.claimed::text,
    e.settle_requested_at is not null or e.state = 'settled' as settling, extract(epoch from a.expires_at)::float8 as expiry
  from epoch_accounts a join epochs e using (epoch)
  where a.opened_at is not null and a.closed_at is null and ($1::int[] is null or a.epoch = any($1)) order by a.epoch desc`;
/** Claims that one read takes. */
const PAGE = 20_000;
const SELECT_CLAIMED = `select index from claims where epoch = $1 and state = 'claimed' and index > $2 order by index limit ${PAGE}`;
const SELECT_MOST = `select coalesce(max(index), 0) as most from claims where epoch = $1`;

/** Leaves of an epoch: a bit for each, the first in the lowest bit of the first byte, as on the chain. */
type Leaves = Uint8Array;

const has = (leaves: Leaves, index: number) => (((leaves[index >>> 3] ?? 0) >> (index & 7)) & 1) === 1;

/** The first leaf of some that is not among others. */
function firstBesides(some: Leaves, others: Leaves): number | undefined {
  const at = some.findIndex((byte, i) => (byte & ~(others[i] ?? 0)) !== 0);
  return at < 0 ? undefined : [0, 1, 2, 3, 4, 5, 6, 7].map((bit) => 8 * at + bit).find((index) => has(some, index) && !has(others, index));
}

/** The leaves of an epoch whose claims the record has. */
async function claimedOf({ db }: Audit, epoch: number): Promise<Leaves> {
  const [row] = await db.query<{ most: number }>({ text: SELECT_MOST }, [epoch]);
  const claimed = new Uint8Array(Math.ceil(((row?.most ?? 0) + 1) / 8));
  for (let last = -1; ; ) {
    const page = await db.query<{ index: number }>({ text: SELECT_CLAIMED }, [epoch, last]);
    for (const { index } of page) claimed[index >>> 3] = (claimed[index >>> 3] ?? 0) | (1 << (index & 7));
    last = page.at(-1)?.index ?? last;
    if (page.length < PAGE) return claimed;
  }
}

async function accountsOf({ chain }: Audit, keys: readonly PublicKey[]) {
  const found = [];
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    found.push(...(await rpc(() => chain.connection.getMultipleAccountsInfo(keys.slice(i, i + AT_ONCE), 'finalized'))));
  }
  return found;
}

/** What the chain had of an epoch at an earlier look: the record, which follows it, must have come so far since. */
interface Seen {
  readonly claimed: bigint;
  /** The leaves whose bits were set, where they were read. */
  readonly indexes: Leaves;
}

const NONE: Leaves = new Uint8Array(0);

/** The first thing that an epoch's account says otherwise than the record, which was read before it; null: nothing. */
function faultOf(open: Open, account: EpochAccount, held: bigint, before: Seen | undefined): string | null {
  const told: readonly (readonly [string, unknown, unknown])[] = [
    ['root', account.root.toString('hex'), open.root],
    ['total', account.total, open.total],
    ['number of leaves', account.leaves, open.leaves],
    ['authority', account.authority, open.authority],
    ['mint', account.mint, open.mint],
    ['vault', account.vault, open.vault],
    ['expiry', account.expiry, open.expiry],
  ];
  const wrong = told.find(([, shown, due]) => String(shown) !== String(due));
  if (wrong) return `says ${wrong[0]} ${wrong[1]} on the chain, and ${wrong[2]} in the record`;
  const claimed = BigInt(open.claimed);
  if (claimed > account.claimed || claimed < (before ?? account).claimed)
    return `says claimed ${account.claimed} on the chain, and ${claimed} in the record`;
  if (account.state === 'closed' || (account.state === 'settled' && open.settling)) return null;
  if (account.state === 'settled') return 'is settled on the chain, and nobody asked for that';
  return held < account.total - account.claimed ? `holds ${held} in its vault, of ${account.total - account.claimed} that are not claimed` : null;
}

/** The leaves whose bits are set. */
async function bitsOf(audit: Audit, { program, address, leaves }: Open): Promise<Leaves> {
  const [programId, account] = [new PublicKey(program), new PublicKey(address)];
  const numbers = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  const keys = numbers.map((page) => pageAddress(programId, account, page));
  const bits = new Uint8Array((numbers.length * CLAIMS_PER_PAGE) / 8);
  for (const [i, raw] of (await accountsOf(audit, keys)).entries()) bits.set(decodePage(programId, raw)?.bits ?? [], (i * CLAIMS_PER_PAGE) / 8);
  return bits;
}

/** Looks at epochs, the record first. */
class Look {
  readonly faults = new Map<number, string>();
  readonly #audit: Audit;
  readonly #before: Map<number, Seen>;

  /** @param before what the first look saw on the chain; where it is missing, this one notes it */
  constructor(audit: Audit, before: Map<number, Seen>) {
    this.#audit = audit;
    this.#before = before;
  }

  /** @param isDeep whose claims are compared one by one, by the place from the newest epoch on */
  async at(epochs: readonly number[] | null, isDeep: (place: number) => boolean): Promise<Map<number, string>> {
    const open = await this.#audit.db.query<Open>({ text: SELECT_OPEN }, [epochs]);
    const keys = open.flatMap(({ address, vault }) => [new PublicKey(address), new PublicKey(vault)]);
    const accounts = await accountsOf(this.#audit, keys);
    for (const [i, one] of open.entries()) {
      const account = decodeEpoch(new PublicKey(one.program), accounts[2 * i] ?? null);
      const held = decodeTokenAccount(accounts[2 * i + 1] ?? null)?.amount ?? 0n;
      const fault = account === null ? 'has no account on the chain' : await this.#one(one, account, held, isDeep(i));
      if (fault !== null) this.faults.set(one.epoch, `epoch ${one.epoch} ${fault}`);
    }
    return this.faults;
  }

  async #one(open: Open, account: EpochAccount, held: bigint, isDeep: boolean): Promise<string | null> {
    const before = this.#before.get(open.epoch);
    const known = isDeep ? await claimedOf(this.#audit, open.epoch) : NONE;
    const indexes = isDeep && account.state === 'open' ? await bitsOf(this.#audit, open) : known;
    // The first look counts: claims go on.
    if (before === undefined || (isDeep && before.indexes === NONE)) {
      this.#before.set(open.epoch, { claimed: before?.claimed ?? account.claimed, indexes: isDeep ? indexes : NONE });
    }
    const fault = faultOf(open, account, held, before);
    if (fault !== null) return fault;
    if (!isDeep) return null;
    const index = firstBesides(known, indexes) ?? firstBesides(before?.indexes ?? indexes, known);
    if (index === undefined) return null;
    return `has leaf ${index} ${has(indexes, index) ? 'claimed' : 'not claimed'} on the chain, and otherwise in the record`;
  }
}

/** The chain is ahead of the record by a moment. */
export const vaults: Check = {
  name: 'vaults',
  invariant: 'an open epoch is on the chain as it is here, its vault holds what is not claimed, and what is claimed there is claimed here',
  live: true,
  async run(audit) {
    const { scope } = audit;
    const suspects = new Suspects<number>();
    const seen = new Map<number, Seen>();
    for (const epoch of (await new Look(audit, seen).at(null, (place) => scope.all || place < scope.epochs)).keys()) suspects.add(epoch);
    return await suspects.confirm(audit, (epochs) => new Look(audit, seen).at(epochs, () => true));
  },
};
