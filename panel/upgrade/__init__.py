"""Upgrades of an installation on one machine: releases side by side, one of them current, and the way back."""
