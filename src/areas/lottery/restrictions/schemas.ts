import { z } from 'zod';
import { Instant } from '#lib/scalars.ts';

/** Longest self-exclusion, days. */
export const MAX_DAYS = 36_500;

/** The request of a self-exclusion. */
export const ExclusionRequest = z
  .strictObject({
    until: Instant.optional().meta({ description: 'End of the exclusion: at least a day ahead.' }),
    days: z.int().min(1).max(MAX_DAYS).optional().meta({ description: 'Length of the exclusion from now, days.', example: 30 }),
  })
  .refine(({ until, days }) => (until === undefined) !== (days === undefined), {
    path: ['until'],
    error: 'exactly one of until and days is required',
  })
  .meta({ id: 'ExclusionRequest', example: { days: 30 } });
export type ExclusionRequest = z.output<typeof ExclusionRequest>;

/** The self-exclusion of a wallet. */
export const ExclusionView = z
  .strictObject({
    excluded: z.boolean().meta({ description: 'Whether the wallet is excluded now.' }),
    since: Instant.nullable().meta({ description: 'Begin of the last exclusion; null when the wallet never excluded itself.' }),
    until: Instant.nullable().meta({ description: 'End of the last exclusion; null when the wallet never excluded itself.' }),
  })
  .meta({ id: 'Exclusion' });
export type ExclusionView = z.output<typeof ExclusionView>;

const Version = z.string().min(1).max(64).meta({ description: 'Version of the terms.', example: '2026-11' });

/** The acceptance of the current terms. */
export const TermsAcceptance = z.strictObject({ version: Version }).meta({ id: 'TermsAcceptance', example: { version: '2026-11' } });

/** The current terms, and their acceptance by the caller. */
export const TermsView = z
  .strictObject({
    version: Version.nullable().meta({ description: 'Current version; null when the service has no terms.' }),
    url: z
      .url()
      .nullable()
      .meta({ description: 'Page with the text of the terms; null when the service has no terms.', example: 'https://arcade.example/terms' }),
    acceptedAt: Instant.nullable().meta({ description: 'Time at which the caller accepted the current version; null when it did not.' }),
  })
  .meta({ id: 'Terms' });
export type TermsView = z.output<typeof TermsView>;
