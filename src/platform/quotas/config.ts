import { z } from 'zod';

/** The kinds of content that a wallet stores, with the defaults of their quotas: of one wallet, and of all wallets together, MB of 1,048,576 bytes. */
const DEFAULTS = {
  clips: { wallet: 5_120, total: 102_400 },
  records: { wallet: 64, total: 20_480 },
  states: { wallet: 16, total: 20_480 },
} as const;

export type StoredKind = keyof typeof DEFAULTS;
export const STORED_KINDS = Object.keys(DEFAULTS) as readonly StoredKind[];

const BYTES_PER_MB = 1_048_576;
/** A number of MB, as the number of its bytes. */
const megabytes = (fallback: number) =>
  z.coerce
    .number()
    .positive()
    .max(1_000_000_000)
    .default(fallback)
    .transform((mb) => Math.floor(mb * BYTES_PER_MB));

/** Parses quotas such as `clips:5120,records:64`. A kind that is not named has its default. */
const quotas = (of: 'wallet' | 'total') =>
  z
    .string()
    .default('')
    .transform((text): unknown =>
      Object.fromEntries(
        text
          .split(',')
          .filter(Boolean)
          .map((part) => {
            const [kind = '', mb = ''] = part.trim().split(':');
            return [kind, mb];
          }),
      ),
    )
    .pipe(z.strictObject({ clips: megabytes(DEFAULTS.clips[of]), records: megabytes(DEFAULTS.records[of]), states: megabytes(DEFAULTS.states[of]) }));

/** The environment variables of storage quotas. */
export const QuotaEnvironment = {
  /** Maximum MB that a wallet may have stored per kind: the files of its clips, its game records, and its saved states. */
  STORAGE_WALLET_MB: quotas('wallet'),
  /** Maximum MB that all wallets together may have stored per kind. */
  STORAGE_TOTAL_MB: quotas('total'),
};

/** Quotas per kind, bytes. */
export type Quotas = Readonly<Record<StoredKind, number>>;

/** Returns the settings of storage quotas, bytes. */
export const quotaConfig = (e: z.infer<z.ZodObject<typeof QuotaEnvironment>>): { readonly wallet: Quotas; readonly total: Quotas } => ({
  wallet: e.STORAGE_WALLET_MB,
  total: e.STORAGE_TOTAL_MB,
});
