import { type Check, type Finding, off, ok, warning, wrongInProduction } from '#doctor/check.ts';
import { WEBHOOK_SOURCES } from '#platform/webhooks/config.ts';

/** Minimum number of bytes, and of distinct bytes. Random hexadecimal digits reach both. */
const MIN_LENGTH = 24;
const MIN_DISTINCT = 9;

function isWeak(secret: string | Buffer): boolean {
  const bytes = typeof secret === 'string' ? Buffer.from(secret) : secret;
  return bytes.length < MIN_LENGTH || new Set(bytes).size < MIN_DISTINCT;
}

/** Checks the strength of session keys, tokens and the receipt key, and whether an operator can sign in. */
export const secrets: Check = {
  name: 'secrets',
  settings: ['SESSION_KEYS', 'ADMIN_TOKENS', 'INTERNAL_TOKENS', 'RECEIPT_KEY'],
  remedy: 'Correct the secrets.',
  run(app) {
    const { adminTokens, internalTokens, sessionKeys, receiptSeed } = app.config;
    const tokens = [...adminTokens, ...internalTokens];
    const now = app.clock.now().getTime();
    const isExpired = ({ expiresAt }: { expiresAt: number | null }) => expiresAt !== null && expiresAt <= now;
    const weak = [
      ...(sessionKeys.some(isWeak) ? ['SESSION_KEYS'] : []),
      ...(isWeak(receiptSeed) ? ['RECEIPT_KEY'] : []),
      ...tokens.filter(({ token }) => isWeak(token)).map(({ name }) => `the token ${name}`),
    ];
    const expired = tokens.filter(isExpired).map(({ name }) => name);
    const findings: Finding[] = [];
    if (weak.length > 0) {
      const remedy = 'Replace them by random secrets: `openssl rand -hex 32`, and `openssl rand -base64 32` for RECEIPT_KEY.';
      findings.push(wrongInProduction(app, `secrets are easy to guess: ${weak.join(', ')}`, remedy));
    }
    if (expired.length > 0) findings.push(warning(`tokens are expired: ${expired.join(', ')}`, 'Remove them from ADMIN_TOKENS and INTERNAL_TOKENS.'));
    if (!adminTokens.some((token) => !isExpired(token) && token.scopes.includes('money'))) {
      findings.push(warning('no valid admin token has the scope money, so nobody can resume payouts', 'Add a token to ADMIN_TOKENS.'));
    }
    return findings.length > 0 ? findings : [ok(`${sessionKeys.length} session keys and ${tokens.length} tokens are set and strong`)];
  },
};

const SETTING = { 'payment-status': 'WEBHOOK_SECRET_PAYMENT_STATUS', 'chat-bridge': 'WEBHOOK_SECRET_CHAT_BRIDGE', x: 'WEBHOOK_SECRET_X' } as const;

/** Checks whether the secrets of webhooks are set and strong. */
export const webhooks: Check = {
  name: 'webhooks',
  settings: Object.values(SETTING),
  remedy: 'Correct the secrets of webhooks.',
  run: (app) =>
    WEBHOOK_SOURCES.map((source) => {
      const keys = app.config.webhookKeys[source];
      const name = SETTING[source];
      if (keys.some(isWeak)) return wrongInProduction(app, `${name} is easy to guess`, 'Replace it by a random secret, also at the sender.');
      if (keys.length > 0) return ok(`${name} is set`);
      if (source === 'payment-status' && app.config.chain.usdcPayer === 'orchestrator') {
        return wrongInProduction(
          app,
          `${name} is missing, but USDC_PAYER is orchestrator`,
          'Set the secret with which the orchestrator signs its reports.',
        );
      }
      return off(`${name} is not set; deliveries of ${source} are refused`);
    }),
};
