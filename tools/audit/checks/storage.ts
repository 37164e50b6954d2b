import { databaseCheck, inSlice } from '../check.ts';

/** SQL that selects the bytes of each clip, game record and saved state. The triggers of storage quotas count the same bytes. */
const CONTENT = `
  select wallet, 'clips' as kind, bytes from clips where state in ('uploading', 'ready', 'removing')
  union all select wallet, 'records', 256 + coalesce(octet_length(record::text), 0) from game_records
  union all select wallet, 'states', octet_length(state) from game_states`;

/** Checks of the storage that counts against the quotas. */
export const storageChecks = [
  databaseCheck(
    'storage-usage',
    'the storage that a wallet uses is the size of its clips, game records and saved states; an eighth of the wallets is compared, a different eighth each day',
    ({ scope }) => `
      with content as (select wallet, kind, sum(bytes) as bytes from (${CONTENT}) c where ${inSlice(scope)} group by wallet, kind)
      select format('%s of %s use %s bytes, but storage_usage has %s', kind, wallet, coalesce(c.bytes, 0), coalesce(u.bytes, 0)) as what
      from content c full join (select * from storage_usage where ${inSlice(scope)}) u using (wallet, kind)
      where coalesce(c.bytes, 0) <> coalesce(u.bytes, 0)`,
  ),
  databaseCheck(
    'storage-totals',
    'the total of each kind of content is the sum of the storage that the wallets use',
    `select format('%s: wallets use %s bytes, but storage_totals has %s', kind, coalesce(u.bytes, 0), coalesce(t.bytes, 0)) as what
     from (select kind, sum(bytes) as bytes from storage_usage group by kind) u
     full join (select kind, sum(bytes) as bytes from storage_totals group by kind) t using (kind) where coalesce(u.bytes, 0) <> coalesce(t.bytes, 0)`,
  ),
];
