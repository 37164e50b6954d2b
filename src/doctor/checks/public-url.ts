import { isIP } from 'node:net';
import { type Check, ok, warning, wrong, wrongInProduction } from '#doctor/check.ts';

/** Host names and addresses that only this machine or its local network can reach. */
const LOCAL =
  /^(?:localhost|.*\.(?:localhost|local|internal|test)|127\..*|10\..*|192\.168\..*|169\.254\..*|172\.(?:1[6-9]|2\d|3[01])\..*|0\.0\.0\.0|\[.*\])$/;

/** Checks whether production rules apply, and whether clients can reach the form of PUBLIC_URL. */
export const publicUrl: Check = {
  name: 'public-url',
  settings: ['PUBLIC_URL', 'NODE_ENV'],
  remedy: 'Correct PUBLIC_URL.',
  run(app) {
    const { production, publicUrl: url } = app.config;
    const mode = production
      ? ok('NODE_ENV is production')
      : warning(
          'NODE_ENV is not production, so development secrets, http and any cluster are accepted',
          'Set NODE_ENV=production outside development.',
        );
    if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
      return [
        mode,
        wrong('PUBLIC_URL has credentials, a query or a fragment', 'Set PUBLIC_URL to the origin of the service, such as https://arcade.example.'),
      ];
    }
    if (url.protocol !== 'https:') return [mode, wrongInProduction(app, 'PUBLIC_URL is not https', 'Set PUBLIC_URL to an https address.')];
    if (LOCAL.test(url.hostname)) {
      return [
        mode,
        wrongInProduction(
          app,
          `PUBLIC_URL names the host ${url.hostname}, which clients on the Internet cannot reach`,
          'Set PUBLIC_URL to the public host name.',
        ),
      ];
    }
    if (isIP(url.hostname) !== 0 || url.pathname !== '/') {
      return [
        mode,
        warning(
          `PUBLIC_URL is ${url.origin}${url.pathname}`,
          'Set PUBLIC_URL to a host name without a path, because wallets show this name at the sign-in.',
        ),
      ];
    }
    return [mode, ok(`PUBLIC_URL is ${url.origin}`)];
  },
};
