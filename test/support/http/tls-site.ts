import { createHash, generateKeyPairSync, randomBytes, sign } from 'node:crypto';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { createServer } from 'node:tls';

const der = (tag: number, ...parts: readonly Buffer[]): Buffer => {
  const body = Buffer.concat(parts);
  const { length } = body;
  const size = length < 128 ? [length] : length < 256 ? [0x81, length] : [0x82, length >> 8, length & 255];
  return Buffer.concat([Buffer.from([tag, ...size]), body]);
};
const sequence = (...parts: readonly Buffer[]) => der(0x30, ...parts);
const oid = (hex: string) => der(0x06, Buffer.from(hex, 'hex'));
const utcTime = (ms: number) => der(0x17, Buffer.from(`${new Date(ms).toISOString().slice(2, 19).replace(/[-:T]/g, '')}Z`));

/**
 * Creates a self-signed certificate of one day for 127.0.0.1. Clients must be told to ignore that no authority signed it, or to trust it as its own
 * authority.
 */
export function createCertificate(): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const spki = publicKey.export({ format: 'der', type: 'spki' });
  const ecdsaWithSha256 = sequence(oid('2a8648ce3d040302'));
  // Browsers ignore a certificate whose name and serial number equal those of another certificate.
  const name = sequence(
    der(0x31, sequence(oid('550403'), der(0x0c, Buffer.from(`test ${createHash('sha256').update(spki).digest('hex').slice(0, 8)}`)))),
  );
  const serial = der(0x02, Buffer.concat([Buffer.from([1]), randomBytes(8)]));
  const validity = sequence(utcTime(Date.now() - 3_600_000), utcTime(Date.now() + 86_400_000));
  const version3 = der(0xa0, der(0x02, Buffer.from([2])));
  // The extension `subjectAltName` names the address, RFC 5280 section 4.2.1.6.
  const address = sequence(oid('551d11'), der(0x04, sequence(der(0x87, Buffer.from([127, 0, 0, 1])))));
  const extensions = der(0xa3, sequence(address));
  const content = sequence(version3, serial, ecdsaWithSha256, name, validity, name, spki, extensions);
  const signature = der(0x03, Buffer.from([0]), sign('sha256', content, privateKey));
  const certificate = sequence(content, ecdsaWithSha256, signature).toString('base64');
  return {
    key: privateKey.export({ format: 'pem', type: 'pkcs8' }).toString(),
    cert: `-----BEGIN CERTIFICATE-----\n${certificate.replace(/.{64}/g, '$&\n')}\n-----END CERTIFICATE-----\n`,
  };
}

/** A TLS server in front of an HTTP server on this machine. */
export interface TlsSite {
  readonly port: number;
  /** Forwards connections to a port from here on. */
  forwardTo(port: number): void;
  close(): void;
}

/** Opens a TLS server with a self-signed certificate. It closes connections until `forwardTo` names a port. */
export async function openTlsSite(): Promise<TlsSite> {
  let target: number | null = null;
  const server = createServer(createCertificate(), (socket) => {
    if (target === null) return void socket.destroy();
    const upstream = connect(target, '127.0.0.1');
    socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.pipe(upstream).pipe(socket);
  });
  server.on('tlsClientError', () => undefined);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    forwardTo(port) {
      target = port;
    },
    close: () => void server.close(),
  };
}

/** Serves requests over TLS with a self-signed certificate. */
export async function serveTls(listener: RequestListener): Promise<TlsSite> {
  const [site, server] = [await openTlsSite(), createHttpServer(listener)];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  site.forwardTo((server.address() as AddressInfo).port);
  return {
    ...site,
    close() {
      site.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
