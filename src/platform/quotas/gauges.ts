import type { GaugeReader } from '#platform/app.ts';
import { statement } from '#platform/db/sql.ts';
import { queryForGauges } from '#platform/observability/metrics/sql-gauges.ts';
import { STORED_KINDS, type StoredKind } from './config.ts';

const readTotals = statement<{ kind: StoredKind; bytes: number }>(
  'read_storage_totals',
  'select kind, sum(bytes)::float8 as bytes from storage_totals group by kind',
);

/** Gauges of the storage that the content of all wallets uses. */
export const storageGauges: GaugeReader = {
  cacheMs: 5_000,
  gauges: {
    coinop_storage_bytes: 'Bytes that the content of all wallets uses, by kind (clips, records, states).',
    coinop_storage_used_ratio: 'Share of the total of STORAGE_TOTAL_MB that is used, by kind. At 1 the service refuses new content of the kind.',
  },
  async read(app) {
    const used = new Map((await queryForGauges(app, readTotals)).map(({ kind, bytes }) => [kind, bytes]));
    return STORED_KINDS.flatMap((kind) => {
      const bytes = used.get(kind) ?? 0;
      const labels = { kind };
      return [
        { name: 'coinop_storage_bytes', labels, value: bytes },
        { name: 'coinop_storage_used_ratio', labels, value: bytes / app.config.quotas.total[kind] },
      ];
    });
  },
};
