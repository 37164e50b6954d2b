import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { decodeEpoch, type EpochAccount, epochAddress, vaultAddress } from '#platform/solana/distributor/index.ts';
import { type Address, parseAddress } from '#platform/solana/primitives.ts';
import { readAccounts } from './accounts.ts';
import { addressesOf, type EpochAddresses, type EpochAddressesRow } from './epoch-accounts.ts';

const selectStored = statement<EpochAddressesRow & { opened: boolean }>(
  'select_epoch_addresses',
  `select epoch, program, authority, mint, vault, address, opened_at is not null as opened from epoch_accounts where epoch = any($1::int[])`,
);
// The API process does not have the key of the epoch authority, so it uses the address that the workers stored.
const selectAuthority = statement<{ authority: string | null }>(
  'select_epoch_authority',
  `select coalesce(keys->>'epochAuthority', (select authority from epoch_accounts order by epoch desc limit 1)) as authority from chain_record`,
);

/** Returns the epoch authority of this process, or the one that the database records; null when neither is known. */
async function authorityOf(app: App): Promise<Address | null> {
  if (app.config.chain.secrets.epochAuthority !== null) return app.chain.key('epochAuthority').publicKey;
  const stored = (await app.db.query(selectAuthority))[0]?.authority ?? null;
  return stored === null ? null : parseAddress(stored);
}

/**
 * Returns every address at which an epoch may have an account on the chain, keyed by epoch: the stored address, and, unless the stored account is
 * known to be open, the address that follows from the keys.
 */
export async function candidateAddresses(app: App, epochs: readonly number[]): Promise<Map<number, EpochAddresses[]>> {
  const stored = await app.db.query(selectStored, [epochs]);
  const authority = await authorityOf(app);
  const { programId: program, rewardMint: mint } = app.chain;
  const byEpoch = new Map(stored.map((row) => [row.epoch, row]));
  return new Map(
    epochs.map((epoch) => {
      const row = byEpoch.get(epoch);
      const known = row ? [addressesOf(row)] : [];
      if (row?.opened || authority === null) return [epoch, known];
      const account = epochAddress(program, authority, mint, BigInt(epoch));
      if (known.some((addresses) => addresses.account.equals(account))) return [epoch, known];
      return [epoch, [...known, { epoch, program, authority, mint, account, vault: vaultAddress(account, mint) }]];
    }),
  );
}

const ADDRESSES_PER_REQUEST = 100;

/** An account of an epoch that exists on the chain. */
export interface FoundAccount {
  readonly addresses: EpochAddresses;
  readonly account: EpochAccount;
}

/** Reads the accounts of epochs at all their candidate addresses. Returns those that exist. */
export async function readCandidates(app: App, commitment: 'confirmed' | 'finalized', epochs: readonly number[]): Promise<FoundAccount[]> {
  const all = [...(await candidateAddresses(app, epochs)).values()].flat();
  const found: FoundAccount[] = [];
  for (let i = 0; i < all.length; i += ADDRESSES_PER_REQUEST) {
    const some = all.slice(i, i + ADDRESSES_PER_REQUEST);
    const { accounts } = await readAccounts(
      app,
      commitment,
      some.map(({ account }) => account),
    );
    for (const [at, addresses] of some.entries()) {
      const account = decodeEpoch(addresses.program, accounts[at] ?? null);
      if (account) found.push({ addresses, account });
    }
  }
  return found;
}

/** Returns the roots, hex, of those of the given epochs that are open on the chain, keyed by epoch. */
export async function readOpenRoots(app: App, epochs: readonly number[]): Promise<Map<number, string>> {
  const found = await readCandidates(app, 'confirmed', [...new Set(epochs)]);
  const open = found.filter(({ account }) => account.state === 'open');
  return new Map(open.map(({ addresses, account }) => [addresses.epoch, account.root.toString('hex')]));
}
