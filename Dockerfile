# The Thermolog image: what is in the tarball, on a small Debian, which has the libraries that its
# Node needs. It writes only to /data, so its root file system may be read-only.

FROM node:24.21.0-slim AS node

FROM node AS unpacked
# A file such as dist/thermolog-1.2.3-linux-x64.tar.gz; without it, one is made of this checkout.
ARG TARBALL
WORKDIR /checkout
COPY package.json package-lock.json ./
# No package runs a script. Git says which commit it is.
RUN [ -n "$TARBALL" ] || { \
    apt-get update && apt-get install --yes --no-install-recommends git \
    && npm ci --omit=dev --ignore-scripts --no-audit --no-fund; \
  }
COPY . .
# Without a commit, the files are as old as the checkout.
RUN [ -n "$TARBALL" ] || { \
    git log -1 >/dev/null 2>&1 || export SOURCE_DATE_EPOCH="$(stat --format=%Y package.json)"; \
    npm run --silent package -- tarball "$(node -p process.arch)"; \
  }
RUN mkdir /thermolog && tar -xzf ${TARBALL:-dist/*.tar.gz} --strip-components=1 -C /thermolog

FROM debian:bookworm-slim
LABEL org.opencontainers.image.title="Thermolog" \
  org.opencontainers.image.description="Time-series ingestion service for temperature sensors" \
  org.opencontainers.image.licenses="MIT"
ENV NODE_ENV=production HOST=0.0.0.0 DATA_DIR=/data
COPY --from=unpacked /thermolog /usr/lib/thermolog
# A new volume gets the owner of the folder it is mounted on.
RUN useradd --uid 1000 --no-create-home --home-dir /nonexistent --shell /usr/sbin/nologin thermolog \
  && ln -s /usr/lib/thermolog/bin/thermolog /usr/lib/thermolog/node_modules/node-linux-*/bin/node \
    /usr/local/bin/ \
  && cd /usr/lib/thermolog/node_modules && mkdir -p .cache/thermolog \
  && mkdir -p /data /secrets/influxdb /secrets/thermolog /secrets/grafana /secrets/prometheus /secrets/postgres \
  && chown thermolog:thermolog .cache/thermolog /data /secrets/* \
  && chmod 700 /data
USER thermolog
# Node's compile cache, for the service and its commands: halves the start time, saves 30 MB.
# Filling it also shows that they start.
RUN export DATA_DIR=/tmp/compiling && mkdir "$DATA_DIR" && { \
    thermolog serve >"$DATA_DIR/log" & service=$!; \
    until grep -q '"ready"' "$DATA_DIR/log"; do kill -0 "$service" || exit 1; sleep 0.1; done; \
    thermolog user list && kill "$service" && wait "$service" && thermolog user list; \
  } && rm -r "$DATA_DIR"
VOLUME /data
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=30s \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT || 8080}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
ENTRYPOINT ["thermolog"]
CMD ["serve"]
