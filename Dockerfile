# syntax=docker/dockerfile:1
# Builds one image for the API, the workers and the migration. `--target localnet` builds the image of the development cluster.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Install scripts are not needed, because npm downloads prebuilt native modules for the target platform.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  # TypeScript is deleted: only type packages depend on it (as a peer dependency), and the service does not run it.
  && rm -rf node_modules/typescript node_modules/@typescript \
  # The commands in bin/ start the Node.js of the project, which is a development package. In the image, this is the Node.js of the image.
  && ln -s /usr/local/bin/node node_modules/.bin/node

FROM packages AS all-packages
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund

FROM all-packages AS web
COPY src/lib src/lib
COPY packages/client/src packages/client/src
COPY packages/verify/src packages/verify/src
COPY packages/web packages/web
RUN node packages/web/build.ts

FROM ${NODE_IMAGE} AS localnet
ENV LOCALNET_FOLDER=/var/lib/localnet LOCALNET_PORT=8899
WORKDIR /app
RUN install -d -o 1000 -g 1000 /var/lib/localnet /run/localnet
COPY --from=all-packages /app/node_modules node_modules
COPY package.json ./
COPY programs programs
COPY src src
COPY dev/localnet dev/localnet
USER 1000:1000
EXPOSE 8899
CMD ["node", "dev/localnet/main.ts"]

FROM ${NODE_IMAGE}
ENV NODE_ENV=production HOST=0.0.0.0 PORT=3000 METRICS_HOST=0.0.0.0 METRICS_PORT=9464 MEDIA_FOLDER=/var/lib/coinop/media
WORKDIR /app
# Creates the mount points of the volumes. A new volume gets the owner of the folder on which it is mounted.
RUN install -d -o 1000 -g 1000 /var/lib/coinop/media /run/localnet
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY games/block-cascade/block-cascade.wasm games/block-cascade/
COPY programs/distributor/distributor.so programs/distributor/
COPY programs/draws/draws.so programs/draws/
COPY jobs jobs
COPY src src
COPY workers workers
# For operators: docker compose exec worker bin/audit
COPY bin/audit bin/deploy bin/doctor bin/history bin/verify-epoch bin/verify-round bin/verify-score bin/
COPY packages/verify/src packages/verify/src
COPY programs/deploy programs/deploy
COPY tools/audit tools/audit
COPY tools/doctor tools/doctor
COPY tools/history tools/history
COPY tools/verify tools/verify
COPY --from=web /app/packages/web/dist packages/web/dist
USER 1000:1000
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
# Checks liveness, not readiness: orchestrators restart an unhealthy container, and a restart does not help when a dependency is down.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.METRICS_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
