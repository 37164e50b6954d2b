import { parseDenyList, readDenyListSource } from '#areas/lottery';
import { type Check, off, ok } from '#doctor/check.ts';
import { solPrice } from '#platform/solana/price.ts';

/** Checks the source of the SOL price, with the cache of the service. */
export const price: Check = {
  name: 'price',
  settings: ['PRICE_URL', 'REDIS_URL'],
  remedy: 'Correct PRICE_URL; until then pages show no price.',
  optional: true,
  async run(app) {
    const { value } = await solPrice(app);
    return [ok(`a SOL costs ${value} USD`)];
  },
};

/** Checks whether X answers. Any response will do, because a request with credentials would cost money or a rate limit. */
export const x: Check = {
  name: 'x',
  settings: ['X_API_URL', 'X_CLIENT_ID', 'X_BEARER_TOKEN', 'X_TIMEOUT_MS'],
  remedy: 'Correct X_API_URL, or open the network to X; until then accounts of X cannot be linked.',
  optional: true,
  async run({ config }) {
    const { apiUrl, client, bearerToken, timeoutMs } = config.x;
    if (client === null && bearerToken === null) return [off('X_CLIENT_ID and X_BEARER_TOKEN are not set; accounts of X cannot be linked')];
    const response = await fetch(apiUrl, { redirect: 'manual', signal: AbortSignal.timeout(timeoutMs) });
    await response.body?.cancel();
    if (response.status >= 500) throw new Error(`X answered with status ${response.status}`);
    return [ok('X answers')];
  },
};

/** Checks whether the deny list can be read and is valid. */
export const denyList: Check = {
  name: 'deny-list',
  settings: ['DENY_LIST'],
  remedy: 'Correct DENY_LIST or its content; until a valid list is loaded, the last one stays in force.',
  async run({ config }, process) {
    const { denyList: source } = config.restrictions;
    if (source === null) return [off('DENY_LIST is not set; no wallet is denied')];
    if (process === 'api' && typeof source === 'string') return [ok('workers read the deny list from a file')];
    return [ok(`the deny list has ${parseDenyList(await readDenyListSource(source)).length} wallets`)];
  },
};
