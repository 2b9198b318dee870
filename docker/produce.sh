#!/usr/bin/env bash
# Creates a topic and sends a file of events to it, one a line. A topic that exists is left as it is.
# The tools are those of the Apache Kafka image; KAFKA_BIN says where else they are.
set -euo pipefail
bin=${KAFKA_BIN:-/opt/kafka/bin}

if "$bin/kafka-topics.sh" --bootstrap-server "$BROKER" --list | grep -qxF "$TOPIC"; then
	echo "topic $TOPIC is there: nothing to send"
	exit 0
fi
"$bin/kafka-topics.sh" --bootstrap-server "$BROKER" --create --topic "$TOPIC" --partitions 4
"$bin/kafka-console-producer.sh" --bootstrap-server "$BROKER" --topic "$TOPIC" <"$EVENTS"
echo "sent $(wc -l <"$EVENTS") events to topic $TOPIC"
