import { z } from 'zod';

const url = z.url({ protocol: /^https?$/ });
/** A header value. Line breaks are rejected here, because the error for an invalid header would print the secret. */
const printable = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces');

/** The environment variables of X. */
export const XEnvironment = {
  /** The id of our OAuth 2.0 client. Without it, wallets cannot link an account by signing in to X. */
  X_CLIENT_ID: printable.optional(),
  /** The secret of a confidential client; not set for a public client. */
  X_CLIENT_SECRET: printable.optional(),
  /** The page of the front end to which X redirects after signing in, registered with X. It forwards `code` and `state`. Default: `PUBLIC_URL`/link/x. */
  X_REDIRECT_URL: url.optional(),
  X_AUTHORIZE_URL: url.default('https://x.com/i/oauth2/authorize'),
  X_API_URL: url.default('https://api.x.com'),
  /** Token for reading posts. Without it, wallets cannot link an account by a post. */
  X_BEARER_TOKEN: printable.optional(),
  /** Maximum post reads per hour, for all wallets together. X charges for each read. */
  X_POST_READS_PER_HOUR: z.coerce.number().int().min(1).max(1_000_000).default(300),
  /** The numeric id of the arcade's own account, which wallets follow, repost and mention. */
  X_ACCOUNT_ID: z
    .string()
    .regex(/^\d{1,20}$/, 'must be the numeric id of an account')
    .optional(),
  /** Timeout of a request to X. */
  X_TIMEOUT_MS: z.coerce.number().int().min(50).max(60_000).default(5_000),
};

type XVariables = z.infer<z.ZodObject<typeof XEnvironment>> & {
  readonly PUBLIC_URL?: string | undefined;
  readonly PORT: number;
  readonly WEBHOOK_SECRET_X: readonly string[];
};

/** Builds the settings of X. @throws when they are incomplete, or not https in production */
export function xConfig(environment: XVariables, production: boolean) {
  const { X_CLIENT_ID, X_CLIENT_SECRET, X_REDIRECT_URL, X_AUTHORIZE_URL, X_API_URL, X_ACCOUNT_ID } = environment;
  const publicUrl = environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`;
  const redirectUrl = X_REDIRECT_URL ?? `${publicUrl.replace(/\/$/, '')}/link/x`;
  if (X_CLIENT_SECRET !== undefined && X_CLIENT_ID === undefined) throw new Error('configuration: X_CLIENT_SECRET needs X_CLIENT_ID');
  if (production) {
    const used = { X_AUTHORIZE_URL, X_API_URL, ...(X_CLIENT_ID === undefined ? {} : { X_REDIRECT_URL: redirectUrl }) };
    for (const [name, value] of Object.entries(used)) {
      if (!value.startsWith('https://')) throw new Error(`configuration: ${name} must be https in production`);
    }
    if (environment.WEBHOOK_SECRET_X.length > 0 && X_ACCOUNT_ID === undefined) throw new Error('configuration: WEBHOOK_SECRET_X needs X_ACCOUNT_ID');
  }
  return {
    apiUrl: X_API_URL,
    authorizeUrl: X_AUTHORIZE_URL,
    /** The OAuth client; null when linking by signing in is off. */
    client: X_CLIENT_ID === undefined ? null : { id: X_CLIENT_ID, secret: X_CLIENT_SECRET ?? null, redirectUrl },
    bearerToken: environment.X_BEARER_TOKEN ?? null,
    postReadsPerHour: environment.X_POST_READS_PER_HOUR,
    accountId: X_ACCOUNT_ID ?? null,
    timeoutMs: environment.X_TIMEOUT_MS,
  };
}
