import type { Config } from '#config';
import { serverUrls } from '#platform/db/servers.ts';
import { passwordsOf } from '#platform/redis/config.ts';

/** Minimum length of a secret that is replaced, and of a part of a URL. Shorter texts would also match harmless parts of a sentence. */
const MIN_LENGTH = 6;
const MIN_PART_LENGTH = 16;

/** Returns the parts of a URL that may be secret: the password, the query, and long parts of path and query, because providers put API keys there. */
function secretsOfUrl(text: string): string[] {
  const url = URL.parse(text);
  if (url === null) return [];
  const parts = [...url.pathname.split('/'), ...url.searchParams.values()].filter((part) => part.length >= MIN_PART_LENGTH);
  return [url.password, decode(url.password), url.search.slice(1), ...parts];
}

/** Decodes a percent-encoded text. A text with another use of the percent sign is returned unchanged. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Returns a function that replaces every secret of a configuration in a text, as the last guard against error messages that contain secrets. */
export function redactor({ database, redis, chain, adminTokens, internalTokens, webhookKeys, sessionKeys, storage, x, ...config }: Config) {
  const { denyList } = config.restrictions;
  const urls = [
    ...serverUrls(database.url),
    ...serverUrls(database.readUrl ?? ''),
    redis.target.kind === 'server' ? redis.target.url : '',
    chain.rpcUrl,
    chain.secondRpcUrl ?? '',
    chain.priceUrl,
    denyList instanceof URL ? denyList.href : '',
  ];
  const keys = Object.values(chain.secrets).filter((source) => source !== null);
  const secrets = [
    ...[...urls, ...keys.map((key) => ('url' in key ? key.url : ''))].flatMap(secretsOfUrl),
    ...[...adminTokens, ...internalTokens].map(({ token }) => token),
    ...sessionKeys,
    ...Object.values(webhookKeys).flatMap((keys) => keys.flatMap((key) => [key.toString('base64'), key.toString('latin1')])),
    ...passwordsOf(redis.target),
    config.receiptSeed.toString('base64'),
    storage.s3?.secretKey ?? '',
    x.client?.secret ?? '',
    x.bearerToken ?? '',
    ...keys.map((key) => ('text' in key ? key.text : 'url' in key ? (key.token ?? '') : '')),
  ]
    .filter((secret) => secret.length >= MIN_LENGTH)
    // A secret may contain another one, so longer secrets are replaced first.
    .sort((a, b) => b.length - a.length);
  return (text: string): string => secrets.reduce((redacted, secret) => redacted.replaceAll(secret, '[secret]'), text);
}
