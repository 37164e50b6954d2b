import { z } from 'zod';
import type { ReportProblem } from '#lib/settings/problems.ts';

const url = z.url({ protocol: /^https?$/ });
/**
 * A secret that is sent in a request header. Line breaks are rejected here, because the error that `fetch` throws for an invalid header would contain
 * the secret.
 */
const printable = z.string().regex(/^[\x21-\x7e]+$/, 'must be printable characters without spaces');

/** The environment variables for the access to X. */
export const XEnvironment = {
  /** Id of this service's OAuth 2.0 client at X. Without it, a wallet cannot link an X account by signing in to X. */
  X_CLIENT_ID: printable.optional(),
  /** Secret of the OAuth client when the client is confidential; not set for a public client. */
  X_CLIENT_SECRET: printable.optional(),
  /**
   * URL of the page to which X redirects after the sign-in. It must be registered with X. A page of the front end passes `code` and `state` to this
   * service. Default: `FRONTEND_URL`/link/x; without a front end, `PUBLIC_URL`/link/x, a page of this service.
   */
  X_REDIRECT_URL: url.optional(),
  X_AUTHORIZE_URL: url.default('https://x.com/i/oauth2/authorize'),
  X_API_URL: url.default('https://api.x.com'),
  /** Token for reading posts. Without it, a wallet cannot link an X account by publishing a post. */
  X_BEARER_TOKEN: printable.optional(),
  /** Maximum post reads per hour, for all wallets together. The limit exists because X charges for each read. */
  X_POST_READS_PER_HOUR: z.coerce.number().int().min(1).max(1_000_000).default(300),
  /** Numeric id of the arcade's own X account, which users follow, repost and mention. */
  X_ACCOUNT_ID: z
    .string()
    .regex(/^\d{1,20}$/, 'must be the numeric id of an account')
    .optional(),
  /** Timeout of a request to X, ms. */
  X_TIMEOUT_MS: z.coerce.number().int().min(50).max(60_000).default(5_000),
};

type XVariables = z.infer<z.ZodObject<typeof XEnvironment>> & {
  readonly PUBLIC_URL?: string | undefined;
  readonly FRONTEND_URL?: string | undefined;
  readonly PORT: number;
  readonly WEBHOOK_SECRET_X: readonly string[];
};

/**
 * Builds the settings of X.
 * @param report gets a sentence when the settings are incomplete, or when a URL is not https in production
 */
export function xConfig(environment: XVariables, production: boolean, report: ReportProblem) {
  const { X_CLIENT_ID, X_CLIENT_SECRET, X_REDIRECT_URL, X_AUTHORIZE_URL, X_API_URL, X_ACCOUNT_ID } = environment;
  const pages = environment.FRONTEND_URL ?? environment.PUBLIC_URL ?? `http://localhost:${environment.PORT}`;
  const redirectUrl = X_REDIRECT_URL ?? `${pages.replace(/\/$/, '')}/link/x`;
  if (X_CLIENT_SECRET !== undefined && X_CLIENT_ID === undefined) report('X_CLIENT_SECRET needs X_CLIENT_ID');
  if (production) {
    const used = { X_AUTHORIZE_URL, X_API_URL, ...(X_CLIENT_ID === undefined ? {} : { X_REDIRECT_URL: redirectUrl }) };
    for (const [name, value] of Object.entries(used)) {
      if (!value.startsWith('https://')) report(`${name} must be https in production`);
    }
    if (environment.WEBHOOK_SECRET_X.length > 0 && X_ACCOUNT_ID === undefined) report('WEBHOOK_SECRET_X needs X_ACCOUNT_ID');
  }
  return {
    apiUrl: X_API_URL,
    authorizeUrl: X_AUTHORIZE_URL,
    /** The OAuth client; null when no client is configured, and then wallets cannot link an X account by signing in to X. */
    client: X_CLIENT_ID === undefined ? null : { id: X_CLIENT_ID, secret: X_CLIENT_SECRET ?? null, redirectUrl },
    bearerToken: environment.X_BEARER_TOKEN ?? null,
    postReadsPerHour: environment.X_POST_READS_PER_HOUR,
    accountId: X_ACCOUNT_ID ?? null,
    timeoutMs: environment.X_TIMEOUT_MS,
  };
}
