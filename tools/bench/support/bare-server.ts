import Koa from 'koa';

/** A minimal Koa server with which the benchmarks compare the API. */
const koa = new Koa();
koa.use((ctx) => {
  ctx.body = { status: 'ok' };
});
const server = koa.listen(Number(process.env.PORT), '127.0.0.1', () => console.log(JSON.stringify({ address: server.address() })));
process.on('SIGTERM', () => server.close(() => process.exit(0)));
