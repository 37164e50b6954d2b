import { defineEntity } from '@mikro-orm/core';
import { byteText, index, text, timestamp } from '#platform/db/columns.ts';

export const NoncesTable = defineEntity({
  name: 'Nonces',
  tableName: 'nonces',
  properties: {
    nonce: byteText().primary(),
    domain: text(),
    uri: text(),
    statement: text(),
    chainId: text(),
    issuedAt: timestamp(),
    expiresAt: timestamp(),
    consumedAt: timestamp().nullable(),
  },
  indexes: [index('create index nonces_expires_at on nonces (expires_at)')],
});

/** Tables of this area. */
export const authTables = [NoncesTable] as const;
