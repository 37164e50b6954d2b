import { z } from 'zod';

const url = z.url({ protocol: /^https?$/ });
/** What goes into headers: a secret with a line break in it would be repeated by the error that it makes. */
const printable = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces');

/** What a process is told about the social network. */
export const XEnvironment = {
  /** The OAuth 2.0 client of our app there. Without it nobody can link an account by signing in to X. */
  X_CLIENT_ID: printable.optional(),
  /** Where the client is a confidential one; without it, it is a public one. */
  X_CLIENT_SECRET: printable.optional(),
  /** The page of the front end that X sends people back to, registered there; it hands `code` and `state` on. `PUBLIC_URL`/link/x where it is not given. */
  X_REDIRECT_URL: url.optional(),
  X_AUTHORIZE_URL: url.default('https://x.com/i/oauth2/authorize'),
  X_API_URL: url.default('https://api.x.com'),
  /** Reads posts. Without it nobody can link an account by a post. */
  X_BEARER_TOKEN: printable.optional(),
  /** Posts that are read an hour, for all wallets together: each is paid for. */
  X_POST_READS_PER_HOUR: z.coerce.number().int().min(1).max(1_000_000).default(300),
  /** The arcade's own account, by its number: whom to follow, to repost, to mention. */
  X_ACCOUNT_ID: z
    .string()
    .regex(/^\d{1,20}$/, 'must be the number of an account')
    .optional(),
  /** How long one answer of X may take. */
  X_TIMEOUT_MS: z.coerce.number().int().min(50).max(60_000).default(5_000),
};

type Environment = z.infer<z.ZodObject<typeof XEnvironment>> & {
  readonly PUBLIC_URL?: string | undefined;
  readonly PORT: number;
  readonly WEBHOOK_SECRET_X: readonly string[];
};

/** The social network, and who we are there. @throws when it is told of incompletely */
export function xConfig(environment: Environment, production: boolean) {
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
    /** Null where nobody can link by signing in. */
    client: X_CLIENT_ID === undefined ? null : { id: X_CLIENT_ID, secret: X_CLIENT_SECRET ?? null, redirectUrl },
    bearerToken: environment.X_BEARER_TOKEN ?? null,
    postReadsPerHour: environment.X_POST_READS_PER_HOUR,
    accountId: X_ACCOUNT_ID ?? null,
    timeoutMs: environment.X_TIMEOUT_MS,
  };
}
