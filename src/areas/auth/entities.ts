import { defineEntity } from '@mikro-orm/core';
import { byteText, index, text, timestamp } from '#platform/db/columns.ts';

/**
 * A row is a sign-in nonce with every value of the text that the wallet signs, so that the nonce stays valid when the configuration changes.
 */
export const NoncesTable = defineEntity({
  name: 'Nonces',
  tableName: 'nonces',
  properties: {
    nonce: byteText().primary(),
    /** Host of the site on which the wallet signs in. */
    domain: text(),
    /** Origin of this site. */
    uri: text(),
    /** The sentence that the wallet shows to its owner. */
    statement: text(),
    /** Solana cluster, such as `solana:mainnet`. */
    chainId: text(),
    issuedAt: timestamp(),
    expiresAt: timestamp(),
    /** Time of the sign-in; null while the nonce is unused. */
    consumedAt: timestamp().nullable(),
  },
  indexes: [index('create index nonces_expires_at on nonces (expires_at)')],
});

/** Tables of this area. */
export const authTables = [NoncesTable] as const;
