"""Tests of continuous backup."""
