# syntax=docker/dockerfile:1
# One image for the API, the workers and the migration; `--target localnet` makes that of the development cluster.
ARG NODE_IMAGE=node:24-slim

FROM ${NODE_IMAGE} AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# Native parts come prebuilt for the platform that is built for; no package needs its scripts.
RUN --mount=type=cache,target=/root/.npm npm ci --omit=dev --ignore-scripts --no-audit --no-fund \
  # The compiler is a peer of some types, and runs nothing.
  && rm -rf node_modules/typescript node_modules/@typescript

FROM packages AS all-packages
RUN --mount=type=cache,target=/root/.npm npm ci --ignore-scripts --no-audit --no-fund

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
# A volume takes over whose folder it is mounted on.
RUN install -d -o 1000 -g 1000 /var/lib/coinop/media /run/localnet
COPY --from=packages /app/node_modules node_modules
COPY package.json ./
COPY programs/distributor/distributor.so programs/distributor/
COPY jobs jobs
COPY src src
COPY workers workers
USER 1000:1000
EXPOSE 3000 9464
STOPSIGNAL SIGTERM
# Whether it lives: who restarts what is unhealthy must not do so because a dependency is down.
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s --retries=3 \
  CMD ["node", "-e", "fetch('http://127.0.0.1:' + process.env.METRICS_PORT + '/healthz').then((r) => process.exit(r.ok ? 0 : 1), () => process.exit(1))"]
CMD ["node", "src/server.ts"]
