import { defineEntity } from '@mikro-orm/core';
import { PlayersTable } from '#areas/points';
import { boolean, bytes, byteText, checks, reference, timestamp, trigger, wallet } from '#platform/db/columns.ts';

/** The one row is the deny list that was loaded last. There is no row before the first load. */
export const DenyListTable = defineEntity({
  name: 'DenyList',
  tableName: 'deny_list',
  properties: {
    singleton: boolean().primary().default(true),
    /** Hash of the text of the list. */
    sha256: bytes(),
    /** Time at which the text last changed. */
    changedAt: timestamp().defaultRaw('app_now()'),
    /** Time of the last successful load. */
    loadedAt: timestamp().defaultRaw('app_now()'),
  },
  checks: checks('length(sha256) = 32', 'singleton'),
});

/** A row is a wallet on the deny list that was loaded last. */
export const DeniedWalletsTable = defineEntity({
  name: 'DeniedWallets',
  tableName: 'denied_wallets',
  properties: { wallet: wallet().primary(), since: timestamp().defaultRaw('app_now()') },
});

/** A row is the last self-exclusion of a wallet. The wallet can prolong it; a new one can begin after its end. */
export const ExclusionsTable = defineEntity({
  name: 'Exclusions',
  tableName: 'exclusions',
  properties: { wallet: reference(PlayersTable, 'wallet').primary(), since: timestamp(), until: timestamp() },
  checks: checks('until > since'),
  triggers: [trigger('create trigger exclusions_kept before delete on exclusions for each row execute function refuse_change()')],
});

/** A row is the acceptance of one version of the terms by a wallet. Rows are never changed or deleted. */
export const AcceptedTermsTable = defineEntity({
  name: 'AcceptedTerms',
  tableName: 'accepted_terms',
  properties: { wallet: reference(PlayersTable, 'wallet').primary(), version: byteText().primary(), at: timestamp().defaultRaw('app_now()') },
  triggers: [trigger('create trigger accepted_terms_kept before delete or update on accepted_terms for each row execute function refuse_change()')],
});

/** Tables of the rules for wallets that paid rounds have. */
export const restrictionTables = [AcceptedTermsTable, DeniedWalletsTable, DenyListTable, ExclusionsTable] as const;
