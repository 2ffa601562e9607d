# Thermolog as an image: the sources, run by Node itself, and what they need at run time.
# It writes to /data alone and may have a read-only root file system.

FROM node:24-slim AS packages
WORKDIR /app
COPY package.json package-lock.json ./
# No package runs a script; Node comes from the image, not from the optional packages.
RUN npm ci --omit=dev --omit=optional --ignore-scripts --no-audit --no-fund

FROM node:24-slim
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
WORKDIR /app
COPY --from=packages /app/node_modules ./node_modules
COPY package.json ./
COPY schemas ./schemas
COPY src ./src
COPY docker ./docker
# A new volume gets the owner of the folder that it is mounted on.
RUN ln -s /app/src/thermolog.js /usr/local/bin/thermolog \
  && mkdir -p /data /secrets/influxdb /secrets/thermolog /secrets/grafana /secrets/prometheus \
  && chown node:node /data /secrets/* \
  && chmod 700 /data
USER node
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=10s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["node", "/app/src/thermolog.js"]
CMD ["serve"]
