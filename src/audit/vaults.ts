import { PublicKey } from '@solana/web3.js';
import { CLAIMS_PER_PAGE, decodeEpoch, decodePage, type EpochAccount, isClaimed, pageAddress } from '../chain/distributor.ts';
import { rpc } from '../chain/solana.ts';
import { decodeTokenAccount } from '../chain/tokens.ts';
import type { Audit, Check } from './check.ts';
import { Suspects } from './suspects.ts';

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
const SELECT_CLAIMED = `select index from claims where epoch = $1 and state = 'claimed'`;

async function accountsOf({ chain }: Audit, keys: readonly PublicKey[]) {
  const found = [];
  for (let i = 0; i < keys.length; i += AT_ONCE) {
    found.push(...(await rpc(() => chain.connection.getMultipleAccountsInfo(keys.slice(i, i + AT_ONCE), 'finalized'))));
  }
  return found;
}

/** The first thing that an epoch's account says otherwise than the record; null: nothing. */
function faultOf(open: Open, account: EpochAccount | null, held: bigint): string | null {
  if (account === null) return 'has no account on the chain';
  const told: readonly (readonly [string, unknown, unknown])[] = [
    ['root', account.root.toString('hex'), open.root],
    ['total', account.total, open.total],
    ['number of leaves', account.leaves, open.leaves],
    ['authority', account.authority, open.authority],
    ['mint', account.mint, open.mint],
    ['vault', account.vault, open.vault],
    ['expiry', account.expiry, open.expiry],
    ['claimed', account.claimed, open.claimed],
  ];
  const wrong = told.find(([, shown, due]) => String(shown) !== String(due));
  if (wrong) return `says ${wrong[0]} ${wrong[1]} on the chain, and ${wrong[2]} in the record`;
  if (account.state !== 'open')
    return open.settling || account.state === 'closed' ? null : `is ${account.state} on the chain, and nobody asked for that`;
  return held < account.total - account.claimed ? `holds ${held} in its vault, of ${account.total - account.claimed} that are not claimed` : null;
}

/** The first leaf whose bit says otherwise than the record; null: none. */
async function bitFault(audit: Audit, { epoch, program, address, leaves }: Open): Promise<string | null> {
  const [programId, account] = [new PublicKey(program), new PublicKey(address)];
  const rows = await audit.db.query<{ index: number }>({ text: SELECT_CLAIMED }, [epoch]);
  const claimed = new Set(rows.map(({ index }) => index));
  const numbers = Array.from({ length: Math.ceil(leaves / CLAIMS_PER_PAGE) }, (_, page) => page);
  const pages = await accountsOf(
    audit,
    numbers.map((page) => pageAddress(programId, account, page)),
  );
  for (const number of numbers) {
    const page = decodePage(programId, pages[number] ?? null);
    for (let index = number * CLAIMS_PER_PAGE; index < Math.min(leaves, (number + 1) * CLAIMS_PER_PAGE); index++) {
      const isSet = page !== null && isClaimed(page, index);
      if (isSet !== claimed.has(index)) return `has leaf ${index} ${isSet ? 'claimed' : 'not claimed'} on the chain, and otherwise in the record`;
    }
  }
  return null;
}

/** What differs of some epochs. @param deep whose claims are compared one by one, too */
async function look(audit: Audit, epochs: readonly number[] | null, deep: (place: number) => boolean): Promise<Map<number, string>> {
  const open = await audit.db.query<Open>({ text: SELECT_OPEN }, [epochs]);
  const accounts = await accountsOf(
    audit,
    open.flatMap(({ address, vault }) => [new PublicKey(address), new PublicKey(vault)]),
  );
  const found = new Map<number, string>();
  for (const [i, one] of open.entries()) {
    const account = decodeEpoch(new PublicKey(one.program), accounts[2 * i] ?? null);
    const fault =
      faultOf(one, account, decodeTokenAccount(accounts[2 * i + 1] ?? null)?.amount ?? 0n) ??
      (account?.state === 'open' && deep(i) ? await bitFault(audit, one) : null);
    if (fault !== null) found.set(one.epoch, `epoch ${one.epoch} ${fault}`);
  }
  return found;
}

/** The chain is ahead of the record by a moment. */
export const vaults: Check = {
  name: 'vaults',
  invariant: 'an open epoch is on the chain as it is here, its vault holds what is not claimed, and what is claimed there is claimed here',
  live: true,
  async run(audit) {
    const { scope } = audit;
    const suspects = new Suspects<number>();
    for (const epoch of (await look(audit, null, (place) => scope.all || place < scope.epochs)).keys()) suspects.add(epoch);
    return await suspects.confirm(audit, (epochs) => look(audit, epochs, () => true));
  },
};
