import { createHash } from 'node:crypto';
import { decodeBase58 } from '#lib/scalars.ts';
import type { App } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { readDenyListSource } from './source.ts';

/**
 * Returns the wallets of a deny list. Its text has one wallet per line; a text after `#`, and an empty line, are ignored.
 * @throws when a line is not a wallet, or when the list has no wallet. An interrupted write often leaves an empty file, which must not end the denials
 */
export function parseDenyList(text: string): string[] {
  const wallets = new Set<string>();
  for (const [i, line] of text.split(/\r?\n/).entries()) {
    const wallet = line.replace(/#.*$/, '').trim();
    if (wallet === '') continue;
    if (decodeBase58(wallet)?.length !== 32) throw new Error(`line ${i + 1} of the deny list must be a wallet address`);
    wallets.add(wallet);
  }
  if (wallets.size === 0) throw new Error('the deny list must have at least one wallet');
  return [...wallets];
}

const readHash = statement<{ sha256: Buffer }>('read_hash_of_deny_list', 'select sha256 from deny_list');
const touch = statement<{ sha256: Buffer }>('touch_deny_list', 'update deny_list set loaded_at = app_now() where sha256 = $1 returning sha256');
// Locks the row until the commit of the transaction, so that concurrent runs replace the list one after the other.
const replaceHash = statement(
  'replace_hash_of_deny_list',
  `insert into deny_list (sha256) values ($1)
   on conflict (singleton) do update set sha256 = excluded.sha256, changed_at = excluded.changed_at, loaded_at = excluded.loaded_at`,
);
const removeWallets = statement(
  'remove_denied_wallets',
  'delete from denied_wallets d where not exists (select from unnest($1::text[]) k(wallet) where k.wallet = d.wallet)',
);
const addWallets = statement(
  'add_denied_wallets',
  'insert into denied_wallets (wallet) select k.wallet from unnest($1::text[]) k(wallet) on conflict do nothing',
);

const clear = statement<{ singleton: boolean }>('clear_deny_list', 'delete from deny_list returning singleton');

/**
 * Loads the deny list from its source and stores it. After a failure the list that was loaded last stays in force, and the next run tries again.
 * Deletes the stored list when no deny list is configured. Idempotent.
 */
export async function refreshDenyList(app: App): Promise<void> {
  const { denyList } = app.config.restrictions;
  if (denyList === null) {
    await app.tx(async (tx) => {
      if ((await tx.query(clear)).length > 0) await tx.query(removeWallets, [[]]);
    });
    return;
  }
  try {
    const text = await readDenyListSource(denyList);
    const sha256 = createHash('sha256').update(text).digest();
    const [stored] = await app.db.query(readHash);
    if (stored?.sha256.equals(sha256) && (await app.tx((tx) => tx.query(touch, [sha256]))).length > 0) return;
    const wallets = parseDenyList(text);
    await app.tx(async (tx) => {
      await tx.query(replaceHash, [sha256]);
      await tx.query(removeWallets, [wallets]);
      await tx.query(addWallets, [wallets]);
    });
    app.log.info({ wallets: wallets.length }, 'the deny list changed and is loaded');
  } catch (err) {
    app.log.error({ err }, 'the deny list cannot be loaded; the list that was loaded last stays in force, and the next run tries again');
  }
}
