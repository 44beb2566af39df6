//! What only a store in Postgres has: leases, connections that are cut, and databases that cannot be used.

mod cut_connections;
mod damage;
mod full_disk;
mod leases;
mod refused;
mod tls;
